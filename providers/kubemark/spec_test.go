package kubemark_test

import (
	"strings"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

const openShiftType = `"apiVersion":"kubemarkproviderconfig.k8s.io/v1alpha1","kind":"KubemarkMachineProviderConfig"`

// badSpecs are specs with one error each, in both APIs' forms.
func badSpecs() []providertest.BadSpec {
	var all []providertest.BadSpec
	for _, c := range faults {
		all = append(all,
			providertest.BadSpec{Reason: c.reason, API: provider.Gardener, Spec: "{" + c.fields + "}", Field: c.path},
			providertest.BadSpec{Reason: c.reason, API: provider.OpenShift, Spec: "{" + openShiftType + "," + c.fields + "}", Field: c.path})
	}
	return append(all,
		providertest.BadSpec{
			Reason: "an OpenShift spec has to name its kind", API: provider.OpenShift,
			Spec: `{"apiVersion":"kubemarkproviderconfig.k8s.io/v1beta1"}`, Field: "kind",
		},
		providertest.BadSpec{
			Reason: "a kind of another cloud", API: provider.OpenShift,
			Spec: `{"apiVersion":"machine.openshift.io/v1beta1","kind":"AWSMachineProviderConfig"}`, Field: "kind",
		},
		providertest.BadSpec{
			Reason: "a version that never was", API: provider.OpenShift,
			Spec: `{"apiVersion":"kubemarkproviderconfig.k8s.io/v2","kind":"KubemarkMachineProviderConfig"}`, Field: "apiVersion",
		},
		providertest.BadSpec{
			Reason: "the other API's version", API: provider.Gardener,
			Spec: `{"apiVersion":"machine.openshift.io/v1beta1"}`, Field: "apiVersion",
		},
	)
}

var faults = []struct{ reason, fields, path string }{
	{"an unknown field", `"numCoresss":4`, "numCoresss"},
	{"an unknown field in a list", `"taints":[{"key":"a","effect":"NoSchedule","efect":""}]`, "taints[0].efect"},
	{"a field given twice", `"quota":1,"quota":2`, "quota"},
	{"a number in place of a duration", `"createLatency":5`, "createLatency"},
	{"a duration without unit", `"diesAfter":"5"`, "diesAfter"},
	{"a negative duration", `"bootLatency":"-1s"`, "bootLatency"},
	{"a spread that is longer than what it spreads", `"bootLatency":"1s","bootSpread":"2s"`, "bootSpread"},
	{"dying at once", `"diesAfter":"0s"`, "diesAfter"},
	{"interrupted at once", `"interruptAfter":"0s"`, "interruptAfter"},
	{"both names of one field", `"deletionTimeout":"1s","deleteLatency":"1s"`, "deletionTimeout"},
	{"an unknown back end", `"backend":"vm"`, "backend"},
	{"a back end that is not configured", `"backend":"kwok"`, "backend"},
	{"half a core", `"numCores":"500m"`, "numCores"},
	{"no core", `"numCores":0`, "numCores"},
	{"a quantity that is none", `"memoryCapacity":"much"`, "memoryCapacity"},
	{"no memory", `"memoryCapacity":0`, "memoryCapacity"},
	{"no pods", `"maxPods":0`, "maxPods"},
	{"negative accelerators", `"gpus":-1`, "gpus"},
	{"accelerators in two places", `"gpus":1,"resources":{"nvidia.com/gpu":1}`, "resources[nvidia.com/gpu]"},
	{"a resource that has a field", `"resources":{"cpu":4}`, "resources[cpu]"},
	{"a resource of Kubernetes that nodes do not have", `"resources":{"storage":"1Gi"}`, "resources[storage]"},
	{"a resource in a domain of Kubernetes", `"resources":{"node.kubernetes.io/x":1}`, "resources[node.kubernetes.io/x]"},
	{"a resource whose name is none", `"resources":{"example.com/a b":1}`, "resources[example.com/a b]"},
	{"a resource that no quota can be of", `"resources":{"` + strings.Repeat("d", 250) + `.com/x":1}`, "resources[" + provider.Clip(strings.Repeat("d", 250), 100) + "]"},
	{"a resource of no quantity", `"resources":{"example.com/fpga":"some"}`, "resources.example.com/fpga"},
	{"half a device", `"resources":{"example.com/fpga":"500m"}`, "resources[example.com/fpga]"},
	{"fewer devices than none", `"resources":{"example.com/fpga":-1}`, "resources[example.com/fpga]"},
	{"more devices than can be counted", `"resources":{"example.com/fpga":"1e30"}`, "resources[example.com/fpga]"},
	{"less storage than none", `"resources":{"ephemeral-storage":"-1Gi"}`, "resources[ephemeral-storage]"},
	{"huge pages of no size", `"resources":{"hugepages-big":"1Gi"}`, "resources[hugepages-big]"},
	{"huge pages whose size is written otherwise than by a kubelet", `"resources":{"hugepages-1024Mi":"1Gi"}`, "resources[hugepages-1024Mi]"},
	{"huge pages of half a KiB", `"resources":{"hugepages-512":"1Gi"}`, "resources[hugepages-512]"},
	{"huge pages of a size that takes long to compute", `"resources":{"hugepages-1e999999999":"1Gi"}`, "resources[hugepages-1e999999999]"},
	{"half a huge page", `"resources":{"hugepages-2Mi":"1Mi"}`, "resources[hugepages-2Mi]"},
	{"huge pages of more than the memory", `"memoryCapacity":"2Gi","resources":{"hugepages-1Gi":"1Gi","hugepages-2Mi":"1026Mi"}`, "resources[hugepages-2Mi]"},
	{"huge pages of more than the usual memory", `"resources":{"hugepages-1Gi":"17Gi"}`, "resources[hugepages-1Gi]"},
	{"memory that cannot be counted", `"memoryCapacity":"1e30"`, "memoryCapacity"},
	{"an unknown architecture", `"arch":"x86_64"`, "arch"},
	{"a zone that is no label value", `"zone":"zone 1"`, "zone"},
	{"an instance type that is no label value", `"instanceType":"a/b"`, "instanceType"},
	{"a region that is too long", `"region":"` + strings.Repeat("r", 64) + `"`, "region"},
	{"zone and zones", `"zone":"a","zones":["b"]`, "zones"},
	{"an empty zone", `"zones":["a",""]`, "zones[1]"},
	{"a zone given twice", `"zones":["a","a"]`, "zones[1]"},
	{"choices and zones", `"choices":[{"zone":"a"}],"zones":["b"]`, "choices"},
	{"a choice of nothing", `"choices":[{"zone":"a"},{}]`, "choices[1]"},
	{"a choice given twice", `"instanceType":"x","choices":[{"zone":"a"},{"zone":"a","instanceType":"x"}]`, "choices[1]"},
	{"a choice whose zone is no label value", `"choices":[{"zone":"zone 1"}]`, "choices[0].zone"},
	{"more choices than are useful", `"choices":[` + strings.Repeat(`{"zone":"a"},`, 20) + `{"zone":"a"}]`, "choices"},
	{"a label key that is none", `"labels":{"a b":"c"}`, "labels[a b]"},
	{"a label value that is none", `"labels":{"a":"b c"}`, "labels[a]"},
	{"a label that a kubelet may not set", `"labels":{"node-role.kubernetes.io/worker":""}`, "labels[node-role.kubernetes.io/worker]"},
	{"a taint without effect", `"taints":[{"key":"a"}]`, "taints[0].effect"},
	{"a taint without key", `"taints":[{"key":"a","effect":"NoSchedule"},{"effect":"NoExecute"}]`, "taints[1].key"},
	{"a taint value that is none", `"taints":[{"key":"a","value":"b c","effect":"NoSchedule"}]`, "taints[0].value"},
	{"a taint given twice", `"taints":[{"key":"a","effect":"NoSchedule"},{"key":"a","value":"b","effect":"NoSchedule"}]`, "taints[1]"},
	{"a fault of no kind", `"fault":"exhausted"`, "fault"},
	{"a rate above one", `"createFailureRate":1.5`, "createFailureRate"},
	{"a negative rate", `"deleteFailureRate":-0.1`, "deleteFailureRate"},
	{"a negative quota", `"quota":-1`, "quota"},
	{"a negative limit of calls", `"callsPerSecond":-1`, "callsPerSecond"},
	{"a secret without name", `"userDataSecret":{}`, "userDataSecret.name"},
	{"credentials without name", `"credentialsSecret":{"name":""}`, "credentialsSecret.name"},
	{"a secret that is text", `"userDataSecret":"worker"`, "userDataSecret"},
}
