package servertest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
)

// install creates every object of config/rbac, one time.
func install(t *testing.T) {
	t.Helper()
	c, _ := connect(t)
	// The operator's roles are in the namespace of its operands, which the packages create.
	operands := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "openshift-machine-api"}}}
	if err := c.Create(t.Context(), operands); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	files := []string{"../rbac/namespace.yaml"}
	for _, pattern := range []string{"../rbac/*/service_account.yaml", "../rbac/*/role*.yaml", "../rbac/*/leader_election.yaml", "../rbac/*/admission.yaml", "../rbac/vsphere/addresses.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s matches nothing: %v", pattern, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		create(t, c, file)
	}
}

// create creates the objects of a file, unless they exist.
func create(t *testing.T, c client.Client, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range bytes.Split(bytes.TrimPrefix(raw, []byte("---\n")), []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := c.Create(t.Context(), object, client.FieldValidation("Strict")); client.IgnoreAlreadyExists(err) != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

func TestPermissions(t *testing.T) {
	const home = "millwright-system"
	cases := []struct {
		account, verb, group, resource, namespace string
		allowed                                   bool
		reason                                    string
	}{
		{"machine-controller", "patch", "machine.openshift.io", "machines/status", home, true, "it records outcomes"},
		{"machine-controller", "patch", "machine.sapcloud.io", "machines", home, true, "it keeps finalizers"},
		{"machine-controller", "watch", "machine.openshift.io", "machinedeployments", home, true, "it sizes their machines"},
		{"machine-controller", "patch", "machine.openshift.io", "machinedeployments", home, true, "it says on them what a machine offers"},
		{"machine-controller", "patch", "machine.openshift.io", "machinedeployments/status", home, false, "it does not write their status"},
		{"machine-controller", "create", "machine.sapcloud.io", "machines", home, false, "machines are made by sets"},
		{"machine-controller", "get", "", "secrets", home, true, "it reads credentials and user data by name"},
		{"machine-controller", "list", "", "secrets", home, false, "it need not know which secrets there are"},
		{"machine-controller", "get", "", "secrets", "default", false, "it does not read secrets of others"},
		{"machine-controller", "create", "", "secrets", "kube-system", true, "it makes bootstrap tokens"},
		{"machine-controller", "create", "", "pods/eviction", "default", true, "it drains nodes"},
		{"machine-controller", "delete", "", "nodes", "", true, "it deletes the nodes of deleted machines"},
		{"machine-controller", "update", "certificates.k8s.io", "certificatesigningrequests/approval", "", true, "it lets kubelets in"},
		{"machine-controller", "update", "coordination.k8s.io", "leases", home, true, "it leads"},
		{"machine-controller", "create", "ipam.cluster.x-k8s.io", "ipaddressclaims", home, true, "that of vSphere claims addresses"},
		{"machine-controller", "list", "ipam.cluster.x-k8s.io", "ipaddressclaims", home, false, "it knows what its claims are called"},
		{"machine-controller-manager", "create", "machine.sapcloud.io", "machines", home, true, "it makes machines"},
		{"machine-controller-manager", "patch", "machine.openshift.io", "machinesets/status", home, true, "it records outcomes"},
		{"machine-controller-manager", "get", "", "secrets", home, false, "it needs no secret"},
		{"machine-controller-manager", "create", "machine.sapcloud.io", "machinesets", home, true, "a rollout makes sets"},
		{"machine-controller-manager", "delete", "machine.openshift.io", "machinesets", home, true, "emptied sets go"},
		{"machine-controller-manager", "patch", "machine.openshift.io", "machinedeployments/status", home, true, "it records outcomes"},
		{"machine-controller-manager", "patch", "machine.sapcloud.io", "machinedeployments", home, true, "it keeps finalizers and revisions"},
		{"machine-controller-manager", "create", "machine.sapcloud.io", "machinedeployments", home, false, "deployments are made by people"},
		{"machine-controller-manager", "patch", "", "nodes", "", true, "it marks the nodes of old sets"},
		{"machine-controller-manager", "delete", "", "nodes", "", false, "it removes no node"},
		{"machine-controller-manager", "list", "", "nodes", "", true, "it counts ready nodes"},
		{"machineset-controller", "create", "machine.openshift.io", "machines", home, true, "it makes machines"},
		{"machineset-controller", "update", "coordination.k8s.io", "leases", home, true, "it leads"},
		{"machineset-controller", "get", "", "secrets", home, true, "its webhooks look whether credentials are there"},
		{"machineset-controller", "create", "", "secrets", home, false, "it fills the one that is there"},
		{"machineset-controller", "update", "", "secrets", home, false, "it does not write secrets of others"},
		{"machineset-controller", "update", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "", false, "it writes into those of its own webhooks only"},
	}
	install(t)
	reviews := kubernetes.NewForConfigOrDie(devplanetest.Start(t).Config).AuthorizationV1().SubjectAccessReviews()
	for _, tc := range cases {
		resource, subresource, _ := strings.Cut(tc.resource, "/")
		review, err := reviews.Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + home + ":" + tc.account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: tc.verb, Group: tc.group, Resource: resource, Subresource: subresource, Namespace: tc.namespace,
			},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Allowed != tc.allowed {
			t.Errorf("%s %s %s/%s in %q: allowed is %v, although %s", tc.account, tc.verb, tc.group, tc.resource, tc.namespace, review.Status.Allowed, tc.reason)
		}
	}
	identity(t, home)
}

// TestCloudsHearThatThereIsNone: objects that a provider reads on OpenShift do not exist on other clusters. There the API
// server must answer "not found", because a provider does not treat "forbidden" as absence. With the rights of config/rbac
// alone, the answer is "forbidden".
func TestCloudsHearThatThereIsNone(t *testing.T) {
	install(t)
	c, _ := connect(t)
	for account, rights := range map[string]string{
		"millwright-system:machine-controller":          "../manager/machine-controller/rights/role.yaml",
		"openshift-machine-api:machine-api-controllers": "../overlays/operator/rights.yaml",
	} {
		config := rest.CopyConfig(devplanetest.Start(t).Config)
		config.Impersonate.UserName = "system:serviceaccount:" + account
		maps := kubernetes.NewForConfigOrDie(config).CoreV1()
		look := func(namespace, name string) error {
			_, err := maps.ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
			return err
		}
		if err := look("openshift-config-managed", "kube-cloud-config"); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v, want a denial: else the rights of clouds are not needed", account, err)
		}
		create(t, c, rights)
		for _, at := range [][2]string{{"openshift-config-managed", "kube-cloud-config"}, {"openshift-config", "cloud-provider-config"}} {
			err := look(at[0], at[1])
			for end := time.Now().Add(10 * time.Second); apierrors.IsForbidden(err) && time.Now().Before(end); err = look(at[0], at[1]) {
				time.Sleep(50 * time.Millisecond) // a binding takes effect shortly after it was stored
			}
			if !apierrors.IsNotFound(err) {
				t.Errorf("%s: ConfigMap %s/%s: %v, want not found", account, at[0], at[1], err)
			}
		}
		if err := look("kube-system", "extension-apiserver-authentication"); !apierrors.IsForbidden(err) {
			t.Errorf("%s: another ConfigMap must be forbidden: %v", account, err)
		}
	}
}

// identity reads, as the machine controller, the namespace whose UID is the identity of the control plane, and others.
func identity(t *testing.T, home string) {
	t.Helper()
	config := rest.CopyConfig(devplanetest.Start(t).Config)
	config.Impersonate.UserName = "system:serviceaccount:" + home + ":machine-controller"
	namespaces := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces()
	if ns, err := namespaces.Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{}); err != nil || ns.UID == "" {
		t.Errorf("the identity of the control plane cannot be read: %v", err)
	}
	if _, err := namespaces.Get(t.Context(), home, metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("another namespace must be forbidden: %v", err)
	}
	if _, err := namespaces.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("it need not know which namespaces there are: %v", err)
	}
}
