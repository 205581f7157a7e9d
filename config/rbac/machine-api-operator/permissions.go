// Package machineapioperator lists the rights of machine-api-operator, as markers from which role.yaml beside this file is
// generated. It has no code. Its account and its Role are in openshift-machine-api, the namespace of the operands.
package machineapioperator

// The operands, and the status in which the operator reports in a cluster without ClusterOperators. Server-side apply of a
// missing object creates it by name.
//
// +kubebuilder:rbac:groups=apps,namespace=openshift-machine-api,resources=daemonsets;deployments,verbs=get;list;watch
// +kubebuilder:rbac:groups=apps,namespace=openshift-machine-api,resources=deployments,resourceNames=machine-api-controllers,verbs=create;patch
// +kubebuilder:rbac:groups=apps,namespace=openshift-machine-api,resources=daemonsets,resourceNames=machine-api-termination-handler,verbs=create;patch
// +kubebuilder:rbac:groups=apps,namespace=openshift-machine-api,resources=deployments/status,resourceNames=machine-api-operator,verbs=patch

// The configuration of the operands.
//
// +kubebuilder:rbac:groups=config.openshift.io,resources=apiservers;featuregates;infrastructures;proxies,verbs=get;list;watch
// +kubebuilder:rbac:groups="",namespace=openshift-machine-api,resources=configmaps,verbs=get;list;watch

// The report to the cluster. An event about an object without a namespace is in "default".
//
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusteroperators,verbs=create;get;list;watch
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusteroperators/status,resourceNames=machine-api,verbs=patch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// The webhooks and policies that check machines.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingadmissionpolicies;validatingadmissionpolicybindings;validatingwebhookconfigurations,verbs=get;list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=machine-api;machine-api-metal3-remediation,verbs=create;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,resourceNames=vsphere-failure-domain-in-use-by-cpms;vsphere-failure-domain-in-use-by-machine;vsphere-failure-domain-in-use-by-machineset,verbs=create;patch

// The objects of the policies: an API server lets a client install a policy only if the client may read all its objects. The
// operator also counts machines and sets.
//
// +kubebuilder:rbac:groups=machine.openshift.io,resources=controlplanemachinesets;machines;machinesets,verbs=get
// +kubebuilder:rbac:groups=machine.openshift.io,namespace=openshift-machine-api,resources=controlplanemachinesets;machines;machinesets,verbs=list;watch

// Leader election, and access to metrics.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=openshift-machine-api,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=openshift-machine-api,resources=leases,resourceNames=machine-api-operator,verbs=get;update
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
