// Package kubevirt simulates a cluster with KubeVirt: an API server with virtual machines, their instances, data volumes, claims
// and secrets, and the work of KubeVirt, CDI and the garbage collector on these, as far as machines need it. No virtual machine
// really runs.
//
// It validates virtual machines with the types of KubeVirt, and refuses unknown fields, which an API server
// would drop.
package kubevirt
