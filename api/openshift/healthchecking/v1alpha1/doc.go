// Package v1alpha1 holds MachineHealthCheck of healthchecking.openshift.io/v1alpha1, the older form of that of
// machine.openshift.io/v1beta1, which took its place in 2019.
//
// A check of this form looks at nodes only: a machine is replaced because of what its node reports, not because it failed or has
// no node. Which conditions count is said once for all checks, in the ConfigMap node-unhealthy-conditions; without it, a node must
// be Ready within 5 minutes. Machines of the control plane, and those that no MachineSet makes, are left alone, and an empty
// selector selects nothing.
//
// Objects of that time are stored as they are: the schema refuses no value of a field that it knows.
//
// +kubebuilder:object:generate=true
// +groupName=healthchecking.openshift.io
package v1alpha1
