// Package machinesetcontroller lists what machineset-controller may do besides what machine-controller-manager may, as markers from
// which role.yaml beside this file is made. It has no code. Both programs keep sets; this one serves webhooks, too.
package machinesetcontroller

// Whether the credentials that a provider spec names are there. The certificate that the process makes is in a Secret that is
// installed empty: who may create secrets may create one with the token of any account of the namespace.
//
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=secrets,verbs=get
// +kubebuilder:rbac:groups="",namespace=millwright-system,resources=secrets,resourceNames=millwright-webhook-cert,verbs=update

// Whom API servers are to trust.
//
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=machine-api;millwright-warnings,verbs=get;update

// Where the cluster runs.
//
// +kubebuilder:rbac:groups=config.openshift.io,resources=dnses;infrastructures,resourceNames=cluster,verbs=get
