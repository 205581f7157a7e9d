// Package kubevirt plays the cluster that KubeVirt runs in: an API server with virtual machines, their instances, data volumes, claims and
// secrets, and what KubeVirt, CDI and the garbage collector do with them, as far as machines need it. No virtual machine runs anywhere.
//
// It judges virtual machines with the types of KubeVirt and refuses fields that these do not have, which an API server would drop.
package kubevirt
