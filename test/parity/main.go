// Command parity runs Kubernetes' own EndpointSlice reconciler over cases made for Tether's planner.
//
// It reads one planInput (JSON) a line from standard input and writes one outcome a line to standard
// output, in the same order. Each workload becomes a pod; see adapt.go for what the mapping leaves
// out, and README.md for why.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/klog/v2"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(1)
	}
}

func run() error {
	klog.SetLogger(klog.Logger{})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 0, 1<<20), 1<<28)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for lines.Scan() {
		var in planInput
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			return fmt.Errorf("reading a case: %w", err)
		}
		if err := encoder.Encode(reconcile(&in)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return out.Flush()
}

// reconcile does what the EndpointSlice controller does for one Service, between its caches and the
// API server.
func reconcile(in *planInput) outcome {
	service := toService(in)
	existing := ours(in)
	client := newClient(in)
	reconciler := endpointslice.NewReconciler(client, nodes(in), in.Options.MaxEndpointsPerSlice,
		endpointsliceutil.NewEndpointSliceTracker(), nil, record.NewFakeRecorder(100), in.Options.Manager,
		endpointslice.WithPreferSameTrafficDistributionEnabled(true))

	err := reconciler.Reconcile(klog.Logger{}, service, pods(in, service), existing, time.Unix(0, 0))
	result := outcome{Slices: []sliceRecord{}}
	if err != nil {
		result.Error = err.Error()
	}
	for _, action := range client.Actions() {
		switch action.GetVerb() {
		case "create":
			result.Created++
		case "update":
			result.Updated++
		case "delete":
			result.Deleted++
		}
	}
	left, err := client.DiscoveryV1().EndpointSlices(in.Key.Namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		result.Error += err.Error()
		return result
	}
	for i := range left.Items {
		if isOurs(in, left.Items[i].Labels) {
			result.Slices = append(result.Slices, fromSlice(&left.Items[i]))
		}
	}
	return result
}

// newClient gives an API server in memory that holds the slices and names what is created.
func newClient(in *planInput) *fake.Clientset {
	objects := []runtime.Object{}
	taken := map[string]bool{}
	for _, slice := range in.Slices {
		taken[slice.Name] = true
		if !slice.Deleting {
			objects = append(objects, toSlice(in.Key.Namespace, slice))
		}
	}
	client := fake.NewSimpleClientset(objects...)
	created := 0
	client.PrependReactor("create", "endpointslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		slice := action.(clienttesting.CreateAction).GetObject().(*discovery.EndpointSlice)
		for slice.Name == "" || taken[slice.Name] {
			created++
			slice.Name = fmt.Sprintf("%supstream-%d", slice.GenerateName, created)
		}
		slice.UID = types.UID(slice.Name)
		slice.GenerateName = ""
		return false, slice, nil
	})
	return client
}

func ours(in *planInput) []*discovery.EndpointSlice {
	var out []*discovery.EndpointSlice
	for _, slice := range in.Slices {
		if !slice.Deleting && isOurs(in, slice.Labels) {
			out = append(out, toSlice(in.Key.Namespace, slice))
		}
	}
	return out
}

func isOurs(in *planInput, labels map[string]string) bool {
	return labels[discovery.LabelServiceName] == in.Key.Name && labels[discovery.LabelManagedBy] == in.Options.Manager
}

func pods(in *planInput, service *corev1.Service) []*corev1.Pod {
	selector := labels.SelectorFromSet(service.Spec.Selector)
	var out []*corev1.Pod
	for _, workload := range in.Workloads {
		if !selector.Matches(labels.Set(workload.Labels)) {
			continue
		}
		if pod := toPod(in, service, workload); pod != nil {
			out = append(out, pod)
		}
	}
	return out
}

func nodes(in *planInput) corelisters.NodeLister {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	_ = indexer.Add(toNode(""))
	for _, workload := range in.Workloads {
		_ = indexer.Add(toNode(workload.Labels[corev1.LabelTopologyZone]))
	}
	return corelisters.NewNodeLister(indexer)
}
