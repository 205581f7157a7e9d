// Package machineapicontrollers lists the rights of the operands of machine-api-operator, as markers from which role.yaml
// beside this file is generated. It has no code. The machine controller, machineset-controller, nodelink-controller and
// machine-healthcheck run in one pod, under one account, in the namespace of their machines. Other components handle bootstrap
// tokens and certificate requests there.
package machineapicontrollers

// Machines, their sets, deployments and health checks, and the clusters that they share.
//
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=openshift-machine-api,resources=machines;machinesets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=openshift-machine-api,resources=machinedeployments;machinehealthchecks,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=openshift-machine-api,resources=clusters,verbs=get;list;watch
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=openshift-machine-api,resources=machines/status;machinesets/status;machinedeployments/status;machinehealthchecks/status,verbs=patch
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=openshift-machine-api,resources=machines/finalizers;machinesets/finalizers;machinedeployments/finalizers,verbs=update

// The older kind of health check, if its CRD is installed, and the conditions that its checks share.
//
// +kubebuilder:rbac:groups=healthchecking.openshift.io,namespace=openshift-machine-api,resources=machinehealthchecks,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=healthchecking.openshift.io,namespace=openshift-machine-api,resources=machinehealthchecks/status,verbs=patch

// Credentials and user data, which are read by name, and ConfigMaps with the evidence of failed machines and the record of
// deleted ones.
//
// +kubebuilder:rbac:groups="",namespace=openshift-machine-api,resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",namespace=openshift-machine-api,resources=configmaps,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",namespace=openshift-machine-api,resources=events,verbs=list
// +kubebuilder:rbac:groups="";events.k8s.io,namespace=openshift-machine-api,resources=events,verbs=create;patch

// The identity of the control plane, which is written on instances, and the lease with which control-plane nodes are drained
// one at a time.
//
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=namespaces,resourceNames=kube-system,verbs=get
// +kubebuilder:rbac:groups="",namespace=openshift-machine-api,resources=configmaps,resourceNames=millwright-identity;deleted-machines,verbs=update
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=kube-system,resources=leases,verbs=create;get;update

// Leader election.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=openshift-machine-api,resources=leases,verbs=create;get;update;watch

// The nodes of machines, their pods, and the volumes of these pods.
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumes;persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=volumeattachments,verbs=get;list;watch;delete

// The cluster's infrastructure and DNS, for webhooks and names of instances.
//
// +kubebuilder:rbac:groups=config.openshift.io,resources=dnses;infrastructures,resourceNames=cluster,verbs=get

// Access to metrics: kube-rbac-proxy checks clients under this account.
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
