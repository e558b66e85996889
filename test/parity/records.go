package main

// The records of core/records.ts and functions/plan/types.ts, as they arrive and leave in JSON.

type planInput struct {
	Key        objectKey        `json:"key"`
	Service    serviceRecord    `json:"service"`
	Workloads  []workloadRecord `json:"workloads"`
	Slices     []sliceRecord    `json:"slices"`
	TakenNames []string         `json:"takenNames"`
	Trigger    string           `json:"triggerTime"`
	Options    planOptions      `json:"options"`
}

type objectKey struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

type planOptions struct {
	Manager                string `json:"manager"`
	MaxEndpointsPerSlice   int32  `json:"maxEndpointsPerSlice"`
	WorkloadsWithoutStatus string `json:"workloadsWithoutStatus"`
	UndeclaredPorts        string `json:"undeclaredPorts"`
}

type serviceRecord struct {
	Name            string            `json:"name"`
	UID             string            `json:"uid"`
	RV              string            `json:"rv"`
	Deleting        bool              `json:"deleting"`
	Type            string            `json:"type"`
	ClusterIP       string            `json:"clusterIP"`
	IPFamilies      []string          `json:"ipFamilies"`
	Selector        map[string]string `json:"selector"`
	Ports           []servicePort     `json:"ports"`
	Labels          map[string]string `json:"labels"`
	PublishNotReady bool              `json:"publishNotReady"`
	ZoneHints       bool              `json:"zoneHints"`
}

type servicePort struct {
	Name     string `json:"name"`
	Port     int32  `json:"port"`
	Protocol string `json:"protocol"`
	// A number, a string or null.
	TargetPort  any     `json:"targetPort"`
	AppProtocol *string `json:"appProtocol"`
}

type workloadRecord struct {
	Name     string            `json:"name"`
	UID      string            `json:"uid"`
	RV       string            `json:"rv"`
	Labels   map[string]string `json:"labels"`
	IPs      []string          `json:"ips"`
	Ports    []workloadPort    `json:"ports"`
	Ready    *bool             `json:"ready"`
	Deleting bool              `json:"deleting"`
}

type workloadPort struct {
	Name     string `json:"name"`
	Port     int32  `json:"port"`
	Protocol string `json:"protocol"`
}

type sliceRecord struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	RV          string            `json:"rv"`
	Deleting    bool              `json:"deleting"`
	AddressType string            `json:"addressType"`
	Labels      map[string]string `json:"labels"`
	Owners      []ownerReference  `json:"owners"`
	Ports       []endpointPort    `json:"ports"`
	Endpoints   []endpointRecord  `json:"endpoints"`
}

type ownerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         *bool  `json:"controller,omitempty"`
	BlockOwnerDeletion *bool  `json:"blockOwnerDeletion,omitempty"`
}

type endpointPort struct {
	Name        string  `json:"name"`
	Port        *int32  `json:"port"`
	Protocol    string  `json:"protocol"`
	AppProtocol *string `json:"appProtocol,omitempty"`
}

type endpointRecord struct {
	Addresses  []string   `json:"addresses"`
	Conditions conditions `json:"conditions"`
	Hostname   *string    `json:"hostname,omitempty"`
	TargetRef  *targetRef `json:"targetRef,omitempty"`
	Zone       *string    `json:"zone,omitempty"`
	Hints      *hints     `json:"hints,omitempty"`
}

type conditions struct {
	Ready       *bool `json:"ready,omitempty"`
	Serving     *bool `json:"serving,omitempty"`
	Terminating *bool `json:"terminating,omitempty"`
}

type targetRef struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

type hints struct {
	ForZones []zoneHint `json:"forZones,omitempty"`
}

type zoneHint struct {
	Name string `json:"name"`
}

// outcome is what upstream made of one case. Slices holds everything that is left of the Service's
// slices; counts are the calls that the reconciler made.
type outcome struct {
	Slices  []sliceRecord `json:"slices"`
	Created int           `json:"created"`
	Updated int           `json:"updated"`
	Deleted int           `json:"deleted"`
	Error   string        `json:"error,omitempty"`
}
