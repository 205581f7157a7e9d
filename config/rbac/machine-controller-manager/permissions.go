// Package machinecontrollermanager lists what machine-controller-manager may do, as markers from which role.yaml beside this
// file is made. It has no code. It needs no Secret and no instance: it makes and removes Machine objects.
package machinecontrollermanager

// Sets and their machines, in the control namespace.
//
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machinesets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machinesets/status,verbs=patch
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machinesets/finalizers,verbs=update
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machines,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="";events.k8s.io,namespace=millwright-system,resources=events,verbs=create;patch

// Readiness of nodes counts for the status of a set.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
