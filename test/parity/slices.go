package main

import (
	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	workloadKind = "ExternalWorkload"
	podKind      = "Pod"
)

func toSlice(namespace string, record sliceRecord) *discovery.EndpointSlice {
	slice := &discovery.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: record.Name, UID: types.UID(record.UID),
			ResourceVersion: record.RV, Labels: record.Labels,
		},
		AddressType: discovery.AddressType(record.AddressType),
	}
	for _, owner := range record.Owners {
		slice.OwnerReferences = append(slice.OwnerReferences, metav1.OwnerReference{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name,
			UID: types.UID(owner.UID), Controller: owner.Controller, BlockOwnerDeletion: owner.BlockOwnerDeletion,
		})
	}
	for _, port := range record.Ports {
		protocol := corev1.Protocol(port.Protocol)
		slice.Ports = append(slice.Ports, discovery.EndpointPort{
			Name: &port.Name, Port: port.Port, Protocol: &protocol, AppProtocol: port.AppProtocol,
		})
	}
	for _, endpoint := range record.Endpoints {
		slice.Endpoints = append(slice.Endpoints, toEndpoint(endpoint))
	}
	return slice
}

// toEndpoint turns a workload's endpoint into a pod's: its node follows from its zone.
func toEndpoint(record endpointRecord) discovery.Endpoint {
	zone := ""
	if record.Zone != nil {
		zone = *record.Zone
	}
	node := nodeOf(zone)
	endpoint := discovery.Endpoint{
		Addresses: record.Addresses,
		Conditions: discovery.EndpointConditions{
			Ready: record.Conditions.Ready, Serving: record.Conditions.Serving,
			Terminating: record.Conditions.Terminating,
		},
		Hostname: record.Hostname,
		NodeName: &node,
		Zone:     record.Zone,
	}
	if ref := record.TargetRef; ref != nil {
		kind := ref.Kind
		if kind == workloadKind {
			kind = podKind
		}
		endpoint.TargetRef = &corev1.ObjectReference{
			Kind: kind, Namespace: ref.Namespace, Name: ref.Name, UID: types.UID(ref.UID),
		}
	}
	if record.Hints != nil {
		endpoint.Hints = &discovery.EndpointHints{}
		for _, zone := range record.Hints.ForZones {
			endpoint.Hints.ForZones = append(endpoint.Hints.ForZones, discovery.ForZone{Name: zone.Name})
		}
	}
	return endpoint
}

func fromSlice(slice *discovery.EndpointSlice) sliceRecord {
	record := sliceRecord{
		Name: slice.Name, UID: string(slice.UID), RV: slice.ResourceVersion,
		AddressType: string(slice.AddressType), Labels: slice.Labels,
		Owners: []ownerReference{}, Ports: []endpointPort{}, Endpoints: []endpointRecord{},
	}
	for _, owner := range slice.OwnerReferences {
		record.Owners = append(record.Owners, ownerReference{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: string(owner.UID),
			Controller: owner.Controller, BlockOwnerDeletion: owner.BlockOwnerDeletion,
		})
	}
	for _, port := range slice.Ports {
		record.Ports = append(record.Ports, endpointPort{
			Name: *port.Name, Port: port.Port, Protocol: string(*port.Protocol), AppProtocol: port.AppProtocol,
		})
	}
	for _, endpoint := range slice.Endpoints {
		record.Endpoints = append(record.Endpoints, fromEndpoint(endpoint))
	}
	return record
}

func fromEndpoint(endpoint discovery.Endpoint) endpointRecord {
	record := endpointRecord{
		Addresses: endpoint.Addresses,
		Conditions: conditions{
			Ready: endpoint.Conditions.Ready, Serving: endpoint.Conditions.Serving,
			Terminating: endpoint.Conditions.Terminating,
		},
		Hostname: endpoint.Hostname,
		Zone:     endpoint.Zone,
	}
	if ref := endpoint.TargetRef; ref != nil {
		kind := ref.Kind
		if kind == podKind {
			kind = workloadKind
		}
		record.TargetRef = &targetRef{Kind: kind, Namespace: ref.Namespace, Name: ref.Name, UID: string(ref.UID)}
	}
	if endpoint.Hints != nil && len(endpoint.Hints.ForZones) > 0 {
		record.Hints = &hints{}
		for _, zone := range endpoint.Hints.ForZones {
			record.Hints.ForZones = append(record.Hints.ForZones, zoneHint{Name: zone.Name})
		}
	}
	return record
}
