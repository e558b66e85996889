package main

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/endpointslice"
)

// toService states a Service as the upstream reconciler reads it.
//
// Upstream takes a numeric targetPort as it is; here a workload must declare it (rule E2), unless
// the case's option allows any. So a number that must be declared is turned into a name which only
// the pods that declare the number carry (see toPod).
func toService(in *planInput) *corev1.Service {
	record := in.Service
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       in.Key.Namespace,
			Name:            record.Name,
			UID:             types.UID(record.UID),
			ResourceVersion: record.RV,
			Labels:          record.Labels,
		},
		Spec: corev1.ServiceSpec{
			Type:                     corev1.ServiceType(record.Type),
			ClusterIP:                record.ClusterIP,
			Selector:                 record.Selector,
			PublishNotReadyAddresses: record.PublishNotReady,
		},
	}
	if record.Deleting {
		service.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	}
	if record.ZoneHints {
		near := corev1.ServiceTrafficDistributionPreferClose
		service.Spec.TrafficDistribution = &near
	}
	for _, family := range record.IPFamilies {
		service.Spec.IPFamilies = append(service.Spec.IPFamilies, corev1.IPFamily(family))
	}
	for _, port := range record.Ports {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{
			Name:        port.Name,
			Port:        port.Port,
			Protocol:    corev1.Protocol(port.Protocol),
			AppProtocol: port.AppProtocol,
			TargetPort:  toTargetPort(port, in.Options.UndeclaredPorts),
		})
	}
	return service
}

func toTargetPort(port servicePort, undeclared string) intstr.IntOrString {
	number := int(port.Port)
	switch target := port.TargetPort.(type) {
	case string:
		return intstr.FromString(target)
	case float64:
		number = int(target)
	}
	if undeclared == "allow" {
		return intstr.FromInt32(int32(number))
	}
	return intstr.FromString(declared(number))
}

// declared is no valid port name, so that no generated name can be mistaken for it.
func declared(number int) string { return fmt.Sprintf("=%d", number) }

// toPod states a workload as a pod, or gives nil where the spec leaves the workload out of every
// slice though upstream would not: no address that the API server takes (D1, D2), or no Service port
// that resolves (E3).
func toPod(in *planInput, service *corev1.Service, workload workloadRecord) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: in.Key.Namespace,
			Name:      workload.Name,
			UID:       types.UID(workload.UID),
			Labels:    workload.Labels,
		},
		// The zone of an endpoint is its node's.
		Spec:   corev1.PodSpec{NodeName: nodeOf(workload.Labels[corev1.LabelTopologyZone])},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: toConditions(in, workload)},
	}
	if workload.Deleting {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	}
	// A headless Service names every workload whose name is a DNS label (D7).
	if service.Spec.ClusterIP == corev1.ClusterIPNone && len(validation.IsDNS1123Label(workload.Name)) == 0 {
		pod.Spec.Hostname = workload.Name
		pod.Spec.Subdomain = service.Name
	}
	for _, ip := range usable(workload.IPs) {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	pod.Spec.Containers = []corev1.Container{{Ports: toContainerPorts(workload.Ports)}}
	if len(pod.Status.PodIPs) == 0 || !resolvesAny(service, pod) {
		return nil
	}
	return pod
}

func toContainerPorts(ports []workloadPort) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	for _, port := range ports {
		for _, name := range []string{port.Name, declared(int(port.Port))} {
			out = append(out, corev1.ContainerPort{
				Name: name, ContainerPort: port.Port, Protocol: corev1.Protocol(port.Protocol),
			})
		}
	}
	return out
}

func resolvesAny(service *corev1.Service, pod *corev1.Pod) bool {
	if len(service.Spec.Ports) == 0 {
		return service.Spec.ClusterIP == corev1.ClusterIPNone
	}
	return slices.ContainsFunc(service.Spec.Ports, func(port corev1.ServicePort) bool {
		_, err := endpointslice.FindPort(pod, &port)
		return err == nil
	})
}

func toConditions(in *planInput, workload workloadRecord) []corev1.PodCondition {
	ready := in.Options.WorkloadsWithoutStatus == "ready"
	if workload.Ready != nil {
		ready = *workload.Ready
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
}

// usable keeps the addresses that an API server takes in a slice (D1), once each.
func usable(ips []string) []string {
	var out []string
	for _, text := range ips {
		ip, err := netip.ParseAddr(text)
		refused := err != nil || ip.Zone() != "" || ip.Is4In6() || ip.IsUnspecified() ||
			ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast()
		if !refused && !slices.Contains(out, ip.String()) {
			out = append(out, ip.String())
		}
	}
	return out
}

func nodeOf(zone string) string { return "node-" + zone }

func toNode(zone string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeOf(zone)}}
	if zone != "" {
		node.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	}
	return node
}
