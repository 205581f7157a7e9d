package main

import (
	"maps"
	"slices"

	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// shape is a form that several fields have. It is described one time.
type shape struct {
	// has are the fields by which the form is recognized.
	has []string
	// place is the page of its description, from docs/reference.
	place string
	// says are the descriptions of its fields; nil if the place is the page of a kind.
	says map[string]string
	// rest is the description of fields that says does not have; empty if says has all.
	rest string
}

// shapes are the forms by the names that pages use.
var shapes = map[string]shape{
	"label selector": {
		has: []string{"matchExpressions", "matchLabels"}, place: "common.md#label-selector",
		says: map[string]string{
			"matchLabels":                 "labels and their values. All have to be there",
			"matchExpressions":            "further demands, which have all to be met",
			"matchExpressions[].key":      "the label",
			"matchExpressions[].operator": "`In`, `NotIn`, `Exists` or `DoesNotExist`",
			"matchExpressions[].values":   "the values of `In` and `NotIn`, at least one; none with the others",
		},
	},
	"taint": {
		has: []string{"effect", "key", "timeAdded", "value"}, place: "common.md#taint",
		says: map[string]string{
			"key":       "the name of the taint",
			"value":     "its value",
			"effect":    "`NoSchedule`, `PreferNoSchedule` or `NoExecute`. Key and effect together tell one taint of a node from another",
			"timeAdded": "stored as it is written",
		},
	},
	"condition": {
		has: []string{"lastTransitionTime", "message", "reason", "severity", "status", "type"}, place: "common.md#condition",
		says: map[string]string{
			"type":               "what the condition is about",
			"status":             "`True`, `False` or `Unknown`",
			"reason":             "one word for why, where the status is not the good one",
			"message":            "the same for people",
			"severity":           "`Error`, `Warning`, `Info` or nothing, where the status is False",
			"lastTransitionTime": "since when the status is what it is",
		},
	},
	"status condition": {
		has: []string{"lastTransitionTime", "message", "observedGeneration", "reason", "status", "type"}, place: "common.md#status-condition",
		says: map[string]string{
			"type":               "what the condition is about",
			"status":             "`True`, `False` or `Unknown`",
			"reason":             "one word for why",
			"message":            "the same for people",
			"observedGeneration": "the generation of the object that the condition is about",
			"lastTransitionTime": "since when the status is what it is",
		},
	},
	"node condition": {
		has: []string{"lastHeartbeatTime", "lastTransitionTime", "message", "reason", "status", "type"}, place: "common.md#node-condition",
		says: map[string]string{
			"type":               "what the condition is about: `Ready`, `DiskPressure`, …",
			"status":             "`True`, `False` or `Unknown`",
			"reason":             "one word for the cause, copied from the node",
			"message":            "a sentence that explains the status, copied from the node",
			"lastHeartbeatTime":  "when the kubelet last told it. Heartbeats alone are not copied from the node",
			"lastTransitionTime": "since when the status is what it is",
		},
	},
	"last operation": {
		has: []string{"description", "errorCode", "lastUpdateTime", "state", "type"}, place: "common.md#last-operation",
		says: map[string]string{
			"description":    "says for people what was done",
			"errorCode":      "the code of the provider's error, for example `ResourceExhausted`; empty without an error",
			"lastUpdateTime": "when the operation was last written",
			"state":          "how the operation went: `Processing`, `Failed` or `Successful`",
			"type":           "what was done: `Create`, `Update`, `InPlaceUpdate`, `DrainNode`, `HealthCheck` or `Delete`",
		},
	},
	"failed machine": {
		has: []string{"lastOperation", "name", "ownerRef", "providerID"}, place: "common.md#failed-machine",
		says: map[string]string{
			"lastOperation": "the last thing done to the machine and how it went", "name": "the name of the machine", "ownerRef": "the name of the machine's owner",
			"providerID": "the provider's identity of the instance",
		},
	},
	"class reference": {
		has: []string{"apiGroup", "kind", "name"}, place: "common.md#class-reference",
		says: map[string]string{"apiGroup": "the API group of the class", "kind": "the kind of the class, `MachineClass`", "name": "the name of the class"},
	},
	"set condition": {
		has: []string{"lastTransitionTime", "message", "reason", "status", "type"}, place: "common.md#set-condition",
		says: map[string]string{
			"type": "what the condition is about", "status": "`True`, `False` or `Unknown`", "reason": "one word for the last change",
			"message": "says for people what the last change was", "lastTransitionTime": "when the status last changed",
		},
	},
	"deployment condition": {
		has: []string{"lastTransitionTime", "lastUpdateTime", "message", "reason", "status", "type"}, place: "common.md#deployment-condition",
		says: map[string]string{
			"type": "what the condition is about", "status": "`True`, `False` or `Unknown`", "reason": "one word for the last change",
			"message": "says for people what the last change was", "lastTransitionTime": "when the status last changed", "lastUpdateTime": "when the condition was last written",
		},
	},
	"address": {
		has: []string{"address", "type"}, place: "common.md#address",
		says: map[string]string{"type": "`InternalIP`, `ExternalIP`, `Hostname`, `InternalDNS` or `ExternalDNS`", "address": "an IP address or a name"},
	},
	"object reference": {
		has: []string{"fieldPath", "namespace", "resourceVersion", "uid"}, place: "common.md#object-reference",
		says: map[string]string{
			"apiVersion": "group and version of the object's kind", "kind": "its kind", "name": "its name", "namespace": "its namespace",
			"uid": "its UID", "fieldPath": "stored, without effect", "resourceVersion": "stored, without effect",
		},
	},
	"secret reference": {
		has: []string{"name", "namespace"}, place: "common.md#secret-reference",
		says: map[string]string{"name": "name of the Secret", "namespace": "its namespace; that of the class without it"},
	},
	"metadata": {
		has: []string{"annotations", "generateName", "labels", "ownerReferences"}, place: "common.md#metadata",
		says: map[string]string{"labels": "labels", "annotations": "annotations"},
		rest: "Names, namespaces and owners may stand there too. They are stored, and have no effect.",
	},
	"node spec": {
		has: []string{"podCIDRs", "taints", "unschedulable"}, place: "common.md#node-spec",
		says: map[string]string{"taints": "taints that the node gets"},
		rest: "The other fields of a node's spec are stored, and have no effect.",
	},
	// These are specs of kinds, described on the pages of the kinds.
	"machine spec of OpenShift": {has: []string{"lifecycleHooks", "providerSpec", "taints"}, place: "machine.openshift.io_machines.md"},
	"machine spec of Gardener":  {has: []string{"class", "creationTimeout", "nodeTemplate"}, place: "machine.sapcloud.io_machines.md"},
}

// shapeOf returns the name of a schema's form; empty if it has a form of its own.
func shapeOf(p apiext.JSONSchemaProps) string {
	found := ""
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		s := shapes[name]
		missing := slices.ContainsFunc(s.has, func(f string) bool { _, is := p.Properties[f]; return !is })
		// The form with the most fields is the closest.
		if !missing && (found == "" || len(s.has) > len(shapes[found].has)) {
			found = name
		}
	}
	if found == "address" && len(p.Properties) > 2 || found == "secret reference" && len(p.Properties) > 2 {
		return ""
	}
	return found
}

func sortedNames(m map[string]apiext.JSONSchemaProps) []string {
	return slices.Sorted(maps.Keys(m))
}

// in finds the form below a schema.
func (s shape) in(of apiext.JSONSchemaProps) (apiext.JSONSchemaProps, bool) {
	if name := shapeOf(of); name != "" && shapes[name].place == s.place {
		return of, true
	}
	for _, name := range sortedNames(of.Properties) {
		inner, _ := innerOf(of.Properties[name])
		if found, is := s.in(inner); is {
			return found, true
		}
	}
	return apiext.JSONSchemaProps{}, false
}
