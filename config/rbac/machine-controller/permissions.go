// Package machinecontroller lists what machine-controller-<provider> may do, as markers from which role.yaml beside this file
// is made. It has no code. Everything about machines is in a Role of one namespace, the control namespace; only nodes and
// what runs on them need the whole target cluster.
package machinecontroller

// Machines, their classes, what they have in common, and their sets' capacity, in the control namespace.
//
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.sapcloud.io,namespace=millwright-system,resources=machines,verbs=delete
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machines/status,verbs=patch
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machines/finalizers,verbs=update
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=millwright-system,resources=machinesets;machinedeployments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=millwright-system,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=machine.sapcloud.io,namespace=millwright-system,resources=machineclasses,verbs=get;list;watch;patch

// Secrets with credentials and user data are read by name, and carry a finalizer while a class refers to them.
//
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=secrets,verbs=get;patch
// +kubebuilder:rbac:groups="";events.k8s.io,namespace=millwright-system,resources=events,verbs=create;patch

// Bootstrap tokens. The second right is to nothing that exists: admission.yaml knows by it whom to leave no other secrets.
//
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=secrets,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=millwright.dev,namespace=kube-system,resources=bootstraptokens,verbs=write

// The identity of the control plane, which is written on instances; and a ConfigMap that has one where this may not be read.
//
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=configmaps,verbs=get;create
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=configmaps,resourceNames=millwright-identity,verbs=update
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=namespaces,resourceNames=kube-system,verbs=get

// The nodes that machines become, and what is on them.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch

// The volumes that pods leave behind, and whose turn it is among control-plane nodes.
//
// +kubebuilder:rbac:groups="",resources=persistentvolumes;persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=volumeattachments,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kube-system,resources=leases,verbs=get;create;update

// Who may read metrics that are served over HTTPS.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
