// Package v1beta1 holds the kinds of machine.openshift.io/v1beta1 that github.com/openshift/api/machine/v1beta1 does not have any
// more: MachineDeployment and Cluster. They belong to the same group and version, and a scheme can be taught both packages.
//
// The two kinds were dropped upstream long ago. Objects of that time are stored as they are: the schema refuses no value of
// a field that it knows, and what a controller cannot act upon is explained in a condition. Values documented here as
// "effective default" are applied by the controllers, never by the API server.
//
// +kubebuilder:object:generate=true
// +groupName=machine.openshift.io
package v1beta1
