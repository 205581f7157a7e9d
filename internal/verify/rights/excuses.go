package rights

// Excuse is what the audit logs of these tests cannot show about a right or a refusal. An empty Account, Verb, Group or Resource stands for any.
type Excuse struct {
	Account, Verb, Group, Resource string
	// Why that is in order all the same.
	Why string
}

func (e Excuse) is(account, verb, group, resource string) bool {
	like := func(pattern, value string) bool { return pattern == "" || pattern == value }
	return like(e.Account, account) && like(e.Verb, verb) && like(e.Group, group) && like(e.Resource, resource)
}

const (
	admission = "admissionregistration.k8s.io"
	machines  = "machine.openshift.io"
	blocks    = "admission asks who may block the deletion of an owner, where OwnerReferencesPermissionEnforcement is on, as in OpenShift"
	applied   = "a server-side apply that creates an object is asked about create by the authorizer, and logged as a patch"
	// controlPlane also runs with the role of the original, which is smaller than that of config/control-plane-machine-set.
	controlPlane = "control-plane-machine-set-operator"
	inPlace      = "the role of the original does not allow it, and the program does without: "
	elsewhere    = "tests do not wait for that, or provoke it on smaller stages: "
)

// Unseen are rights that no request of these tests shows the need of.
var Unseen = []Excuse{
	{Verb: "approve", Group: "certificates.k8s.io", Resource: "signers", Why: "admission asks for it when a certificate request is approved"},
	{Verb: "update", Resource: "machines/finalizers", Why: blocks},
	{Verb: "update", Resource: "machinesets/finalizers", Why: blocks},
	{Verb: "update", Resource: "machinedeployments/finalizers", Why: blocks},
	{Account: "machine-api-operator", Verb: "create", Group: "apps", Why: applied},
	{Account: "machine-api-operator", Verb: "create", Group: admission, Why: applied},
	{Account: "machine-api-operator", Group: machines, Resource: "controlplanemachinesets", Why: "who binds a policy to a parameter has to be allowed to read that"},
	{Verb: "write", Group: "millwright.dev", Resource: "bootstraptokens", Why: "admission asks for it to know whose secrets to bound"},
	{Verb: "patch", Resource: "events", Why: elsewhere + "an event that repeats within minutes is counted by a patch"},
	{Verb: "delete", Resource: "configmaps", Why: elsewhere + "evidence of failed machines is removed after seven days"},
	{Verb: "delete", Group: "storage.k8s.io", Resource: "volumeattachments", Why: elsewhere + "a volume that stays attached is released after a timeout"},
	{Account: "machine-controller", Verb: "patch", Resource: "secrets", Why: elsewhere + "a bootstrap token that ends before its machine has joined is prolonged"},
	{Verb: "delete", Group: machines, Resource: "machinesets", Why: elsewhere + "sets beyond the history limit go"},
}

// Denied are requests that are refused by design: a program asks what it may, and does without.
var Denied = []Excuse{
	{Account: "machine-controller", Verb: "list", Resource: "secrets", Why: "where it is allowed, the controller looks for finalizers of secrets that a class dropped while no process watched (decision 28)"},
	{Verb: "create", Resource: "secrets", Why: "the machine controller asks, in a dry run, whether it is kept from writing secrets of kube-system other than bootstrap tokens"},
	{Account: "machine-api-controllers", Verb: "list", Resource: "certificatesigningrequests", Why: "kubelets are let in by another component there (decision 28)"},
	{Account: controlPlane, Verb: "watch", Group: "coordination.k8s.io", Resource: "leases", Why: inPlace + "it reads the lease at intervals"},
	{Account: controlPlane, Verb: "get", Group: "config.openshift.io", Resource: "dnses", Why: inPlace + "it fills in no defaults that need the cluster's DNS"},
	{Account: controlPlane, Verb: "create", Group: "events.k8s.io", Resource: "events", Why: inPlace + "it records no event about its lease"},
	{Account: "machine-api-controllers", Verb: "get", Group: admission, Why: "the service CA tells whom to trust there"},
}
