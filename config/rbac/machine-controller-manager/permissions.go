// Package machinecontrollermanager lists the rights of machine-controller-manager, as markers from which role.yaml beside this
// file is generated. It has no code. The program needs no Secret and no instance: it creates and deletes MachineSets and
// Machines.
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

// Nodes: the status of a set counts Ready nodes, and a rollout marks the nodes that it is about to remove.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch

// The identity of the cluster of the nodes, which health checks compare.
//
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get

// Health checks, the conditions that the older ones share, and the record of remediations that have begun. The checks restart
// nodes with an annotation, which the right to patch nodes covers. For the rights for remediation templates and requests, see
// role_external_remediation.yaml.
//
// +kubebuilder:rbac:groups=machine.openshift.io;healthchecking.openshift.io,namespace=millwright-system,resources=machinehealthchecks,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.openshift.io;healthchecking.openshift.io,namespace=millwright-system,resources=machinehealthchecks/status,verbs=patch
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=configmaps,resourceNames=node-unhealthy-conditions,verbs=get;list;watch

// Access to metrics that are served over HTTPS.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
