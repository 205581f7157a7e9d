// Package kubevirt simulates the cluster of KubeVirt: an API server with virtual machines, their instances,
// data volumes, claims and secrets, and what KubeVirt, CDI and the garbage collector do with them, as far as
// machines need it. No virtual machine runs.
//
// It validates virtual machines with the types of KubeVirt, and refuses unknown fields, which an API server
// would drop.
package kubevirt
