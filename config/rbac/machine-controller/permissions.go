// Package machinecontroller lists the rights of machine-controller-<provider>, as markers from which role.yaml beside this file
// is generated. It has no code. All rights about machines are in a Role of the control namespace. Only nodes and their pods
// need rights in the whole target cluster.
package machinecontroller

// Machines, their classes, the clusters that they share, and the capacity of their sets, in the control namespace.
//
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.sapcloud.io,namespace=millwright-system,resources=machines,verbs=delete
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machines/status,verbs=patch
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machines/finalizers,verbs=update
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=millwright-system,resources=machinesets;machinedeployments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=millwright-system,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=machine.sapcloud.io,namespace=millwright-system,resources=machineclasses,verbs=get;list;watch;patch

// Secrets with credentials and user data. They are read by name, and have a finalizer while a class refers to them.
//
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=secrets,verbs=get;patch
// +kubebuilder:rbac:groups="";events.k8s.io,namespace=millwright-system,resources=events,verbs=create;patch

// Bootstrap tokens. The kind of the second right does not exist: the policy in admission.yaml recognizes by this right the
// accounts that it limits to bootstrap tokens.
//
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=secrets,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=millwright.dev,namespace=kube-system,resources=bootstraptokens,verbs=write

// The identity of the control plane, which is written on instances, and a ConfigMap that replaces it if it cannot be read.
//
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=configmaps,verbs=get;create
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=configmaps,resourceNames=millwright-identity,verbs=update
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=namespaces,resourceNames=kube-system,verbs=get

// The nodes of machines, and their pods.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch

// The volumes of these pods, and the lease with which control-plane nodes are drained one at a time.
//
// +kubebuilder:rbac:groups="",resources=persistentvolumes;persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=volumeattachments,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kube-system,resources=leases,verbs=get;create;update

// Access to metrics that are served over HTTPS.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
