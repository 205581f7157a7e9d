// Package machinecontrollermanager lists what machine-controller-manager may do, as markers from which role.yaml beside this
// file is made. It has no code. It needs no Secret and no instance: it makes and removes MachineSet and Machine objects.
package machinecontrollermanager

// Deployments, sets and their machines, in the control namespace.
//
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machinedeployments,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machinedeployments/status,verbs=patch
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machinedeployments/finalizers,verbs=update
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machinesets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machinesets/status,verbs=patch
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machinesets/finalizers,verbs=update
// +kubebuilder:rbac:groups=machine.openshift.io;machine.sapcloud.io,namespace=millwright-system,resources=machines,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="";events.k8s.io,namespace=millwright-system,resources=events,verbs=create;patch

// Readiness of nodes counts for the status of a set, and a rollout marks the nodes that it is about to remove.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch

// Health checks compare which cluster the nodes are of.
//
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get

// Health checks, the conditions that the older ones share, and what they remember of what they began. They restart nodes by an
// annotation, which the permission above covers. Rights for remediation templates and requests: role_external_remediation.yaml.
//
// +kubebuilder:rbac:groups=machine.openshift.io;healthchecking.openshift.io,namespace=millwright-system,resources=machinehealthchecks,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.openshift.io;healthchecking.openshift.io,namespace=millwright-system,resources=machinehealthchecks/status,verbs=patch
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=configmaps,resourceNames=node-unhealthy-conditions,verbs=get;list;watch

// Who may read metrics that are served over HTTPS.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
