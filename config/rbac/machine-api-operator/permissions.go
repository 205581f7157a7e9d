// Package machineapioperator lists what machine-api-operator may do, as markers from which role.yaml beside this file is made.
// It has no code. Its account and its Role are in openshift-machine-api, where the operands are.
package machineapioperator

// What the controllers run in, and where the operator says how they are in a cluster without ClusterOperators. Who applies an
// object that is not there creates it by name.
//
// +kubebuilder:rbac:groups=apps,namespace=openshift-machine-api,resources=daemonsets;deployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,namespace=openshift-machine-api,resources=deployments,resourceNames=machine-api-controllers,verbs=create;patch
// +kubebuilder:rbac:groups=apps,namespace=openshift-machine-api,resources=daemonsets,resourceNames=machine-api-termination-handler,verbs=create;patch
// +kubebuilder:rbac:groups=apps,namespace=openshift-machine-api,resources=deployments/status,resourceNames=machine-api-operator,verbs=patch

// What operands follow from.
//
// +kubebuilder:rbac:groups=config.openshift.io,resources=apiservers;featuregates;infrastructures;proxies,verbs=get;list;watch
// +kubebuilder:rbac:groups="",namespace=openshift-machine-api,resources=configmaps,verbs=get;list;watch

// The report to the cluster. An event about an object without a namespace is in "default".
//
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusteroperators,verbs=create;get;list;watch
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusteroperators/status,resourceNames=machine-api,verbs=patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// Who judges machines as they are written.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingadmissionpolicies;validatingadmissionpolicybindings;validatingwebhookconfigurations,verbs=get;list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=machine-api;machine-api-metal3-remediation,verbs=create;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,resourceNames=vsphere-failure-domain-in-use-by-cpms;vsphere-failure-domain-in-use-by-machine;vsphere-failure-domain-in-use-by-machineset,verbs=create;patch

// An API server lets a client install a policy only if the client may read all objects that the policy is about. Machines and sets are counted, too.
//
// +kubebuilder:rbac:groups=machine.openshift.io,resources=controlplanemachinesets;machines;machinesets,verbs=get
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=openshift-machine-api,resources=controlplanemachinesets;machines;machinesets,verbs=list;watch

// Leading, and who may get metrics.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=openshift-machine-api,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=openshift-machine-api,resources=leases,resourceNames=machine-api-operator,verbs=get;update
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
