// Package machinesetcontroller lists the rights that machineset-controller has in addition to those of
// machine-controller-manager, as markers from which role.yaml beside this file is generated. It has no code. Both programs
// manage sets, and this one also serves webhooks.
package machinesetcontroller

// The credentials that a provider spec names, whose existence is checked, and the Secret of the certificate that the process
// creates. The manifests create this Secret empty, because a right to create Secrets would give access to the token of any
// account of the namespace.
//
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=secrets,resourceNames=millwright-webhook-cert,verbs=update

// The CA in the webhook configurations.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=machine-api;millwright-warnings,verbs=get;update

// The cluster's infrastructure.
//
// +kubebuilder:rbac:groups=config.openshift.io,resources=dnses;infrastructures,resourceNames=cluster,verbs=get
