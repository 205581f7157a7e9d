package start

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/operator"
)

// TestInstallation: rows of 7.4 from creation on, of a cluster whose Infrastructure comes late, and the minimum of workers.
func TestInstallation(t *testing.T) {
	b := newBox(t)
	b.openshift()
	b.start(nil)
	b.conditioned("there is no Infrastructure", configv1.OperatorDegraded, "True/SyncingFailed", "Failed when progressing towards operator: 4.2 because Infrastructure cluster is not there")
	b.conditioned("nothing was reached yet", configv1.OperatorAvailable, "False/Initializing", "Operator is initializing")
	b.conditioned("always", configv1.OperatorUpgradeable, "True/", "")
	set := &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "workers"}}
	set.Spec.Replicas, set.Spec.Selector.MatchLabels = ptr.To[int32](2), map[string]string{"a": "b"}
	b.must(b.Create(t.Context(), set))
	t.Cleanup(func() { _ = b.Client.Delete(context.Background(), set) })
	b.infrastructure(configv1.AWSPlatformType)
	b.gates()
	b.deployed("the Infrastructure came", func(d *appsv1.Deployment) bool {
		return strings.Contains(args(d, "machine-controller"), "--namespace="+home)
	})
	b.conditioned("it goes on", configv1.OperatorProgressing, "True/SyncingResources", "Progressing towards operator: 4.2")
	b.within(20*time.Second, "the termination handler", func() error {
		return b.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-termination-handler"}, &appsv1.DaemonSet{})
	})
	b.rolledOut()
	b.conditioned("there are no workers", configv1.OperatorDegraded, "True/SyncingFailed",
		"Failed when progressing towards operator: 4.2 because replicas not satisfied for MachineSet: expected 2 replicas, got 0 current replicas")
	b.conditioned("there are no workers", configv1.OperatorAvailable, "False/Initializing", "")
	b.must(b.Delete(t.Context(), set))
	b.conditioned("none are asked for", configv1.OperatorAvailable, "True/AsExpected", "available at operator: 4.2")
	b.conditioned("it is well", configv1.OperatorDegraded, "False/AsExpected", "")
	var co configv1.ClusterOperator
	b.must(b.Get(t.Context(), client.ObjectKey{Name: "machine-api"}, &co))
	if len(co.Status.Versions) != 1 || co.Status.Versions[0] != (configv1.OperandVersion{Name: "operator", Version: "4.2"}) || len(co.Status.RelatedObjects) != 8 {
		t.Errorf("versions %v, related %v", co.Status.Versions, co.Status.RelatedObjects)
	}
	b.within(10*time.Second, "events", func() error {
		var list corev1.EventList
		b.must(b.List(t.Context(), &list, client.InNamespace("default")))
		told := map[string]bool{}
		for _, e := range list.Items {
			if e.InvolvedObject.Kind == "ClusterOperator" {
				told[e.Type+" "+e.Reason] = true
			}
		}
		if !told["Normal Status upgrade"] || !told["Warning Status degraded"] {
			return fmt.Errorf("told %v", told)
		}
		return nil
	})
}

// TestDriftIsPutBack: what others write into operands goes within seconds, and what service CAs write stays.
func TestDriftIsPutBack(t *testing.T) {
	b := begun(t, nil)
	want := b.deployment()
	for name, change := range map[string]func(*appsv1.Deployment){
		"replicas": func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](3) },
		"args":     func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = []string{"--v=9"} },
		"another program": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "x", Image: "x"})
		},
		"host network": func(d *appsv1.Deployment) { d.Spec.Template.Spec.HostNetwork = true },
		"environment": func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[1].Env = append(d.Spec.Template.Spec.Containers[1].Env, corev1.EnvVar{Name: "X", Value: "y"})
		},
	} {
		d := b.deployment()
		before := d.DeepCopy()
		change(d)
		b.must(b.Patch(t.Context(), d, client.MergeFrom(before), client.FieldOwner("kubectl-edit")))
		b.deployed(name, func(d *appsv1.Deployment) bool { return equal(d.Spec, want.Spec) })
	}
	b.must(b.Delete(t.Context(), b.deployment()))
	b.deployed("somebody deleted it", func(d *appsv1.Deployment) bool { return equal(d.Spec, want.Spec) })

	var hooks admissionregistrationv1.ValidatingWebhookConfiguration
	key := client.ObjectKey{Name: "machine-api"}
	b.must(b.Get(t.Context(), key, &hooks))
	if hooks.Annotations["service.beta.openshift.io/inject-cabundle"] != "true" {
		t.Errorf("annotations %v", hooks.Annotations)
	}
	for i := range hooks.Webhooks {
		hooks.Webhooks[i].ClientConfig.CABundle = b.env.Config.CAData
	}
	b.must(b.Update(t.Context(), &hooks, client.FieldOwner("service-ca-operator")))
	fail := admissionregistrationv1.Fail
	hooks.Webhooks[0].FailurePolicy = &fail
	b.must(b.Update(t.Context(), &hooks, client.FieldOwner("kubectl-edit")))
	b.within(20*time.Second, "the policy is put back, and the bundle stays", func() error {
		b.must(b.Get(t.Context(), key, &hooks))
		for _, h := range hooks.Webhooks {
			if *h.FailurePolicy != admissionregistrationv1.Ignore || !bytes.Equal(h.ClientConfig.CABundle, b.env.Config.CAData) {
				return fmt.Errorf("%s: %s, %d bytes of CA", h.Name, *h.FailurePolicy, len(h.ClientConfig.CABundle))
			}
		}
		return nil
	})
	again := b.deployment().Generation
	time.Sleep(3 * time.Second)
	if got := b.deployment().Generation; got != again {
		t.Errorf("written %d times with nothing to do", got-again)
	}
}

// TestEveryOperandIsWatched: section 7.1. A deleted operand is created again within seconds, and so is the
// ClusterOperator with its status.
func TestEveryOperandIsWatched(t *testing.T) {
	b := begun(t, nil)
	for _, o := range []client.Object{
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "machine-api-termination-handler"}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "machine-api"}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "machine-api"}},
		&configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: "machine-api"}},
	} {
		key := client.ObjectKeyFromObject(o)
		b.must(b.Get(t.Context(), key, o))
		was := o.GetUID()
		b.must(b.Delete(t.Context(), o))
		b.within(20*time.Second, fmt.Sprintf("somebody deleted %T", o), func() error {
			err := b.Get(t.Context(), key, o)
			if err == nil && o.GetUID() == was {
				err = fmt.Errorf("%T is still there", o)
			}
			return err
		})
	}
	b.rolledOut()
	b.conditioned("all pods run", configv1.OperatorAvailable, "True/AsExpected", "available at operator: 4.2")

	d := &appsv1.DaemonSet{}
	key := client.ObjectKey{Namespace: home, Name: "machine-api-termination-handler"}
	b.must(b.Get(t.Context(), key, d))
	before := d.DeepCopy()
	d.Spec.Template.Spec.HostNetwork = false
	b.must(b.Patch(t.Context(), d, client.MergeFrom(before), client.FieldOwner("kubectl-edit")))
	b.within(20*time.Second, "somebody edits the DaemonSet", func() error {
		b.must(b.Get(t.Context(), key, d))
		if !equal(d.Spec, before.Spec) {
			return fmt.Errorf("%+v", d.Spec)
		}
		return nil
	})
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// TestInputsRollOut: proxy, TLS, images, gates and CA reach the operands without anything else happening.
func TestInputsRollOut(t *testing.T) {
	b := begun(t, nil)
	proxy := &configv1.Proxy{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	b.must(b.Create(t.Context(), proxy))
	proxy.Status = configv1.ProxyStatus{HTTPProxy: "http://p:1", NoProxy: "x"}
	b.must(b.Status().Update(t.Context(), proxy))
	b.deployed("proxy", func(d *appsv1.Deployment) bool {
		return env(d, "machine-controller", "HTTP_PROXY") == "http://p:1" && env(d, "kube-rbac-proxy-mhc-mtrc", "HTTP_PROXY") == ""
	})
	proxy.Status = configv1.ProxyStatus{}
	b.must(b.Status().Update(t.Context(), proxy))
	b.deployed("no proxy", func(d *appsv1.Deployment) bool { return env(d, "machine-controller", "HTTP_PROXY") == "" })

	server := &configv1.APIServer{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	server.Spec.TLSAdherence = configv1.TLSAdherencePolicyStrictAllComponents
	server.Spec.TLSSecurityProfile = &configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType, Modern: &configv1.ModernTLSProfile{}}
	b.must(b.Create(t.Context(), server))
	b.deployed("TLS", func(d *appsv1.Deployment) bool {
		return strings.Contains(args(d, "machineset-controller"), "--tls-min-version=VersionTLS13") && strings.Contains(args(d, "kube-rbac-proxy-machine-mtrc"), "VersionTLS13")
	})
	b.say(strings.ReplaceAll(good, "mao:1", "mao:2"))
	b.deployed("images", func(d *appsv1.Deployment) bool { return d.Spec.Template.Spec.Containers[0].Image == "mao:2" })
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "mao-trusted-ca"}, Data: map[string]string{"ca-bundle.crt": "x"}}
	b.must(b.Create(t.Context(), ca))
	t.Cleanup(func() { _ = b.Client.Delete(context.Background(), ca) })
	b.deployed("CA", func(d *appsv1.Deployment) bool {
		for k := range d.Spec.Template.Annotations {
			if strings.HasPrefix(k, "operator.openshift.io/dep-") {
				return true
			}
		}
		return false
	})
	b.gates("MachineAPIOperatorDisableMachineHealthCheckController", "MachineAPIMigration")
	b.deployed("gates", func(d *appsv1.Deployment) bool {
		return len(d.Spec.Template.Spec.Containers) == 5 && strings.Contains(args(d, "machineset-controller"), "MachineAPIMigration=true")
	})
}

// steady is a box whose Deployment no fault may change.
type steady struct {
	*box
	generation int64
}

func begunSteady(t *testing.T) steady {
	b := begun(t, nil)
	return steady{b, b.deployment().Generation}
}

func (b steady) untouched() {
	b.Helper()
	if d := b.deployment(); d.Generation != b.generation {
		b.Errorf("the Deployment was changed: %+v", d.Spec)
	}
}

func (b steady) well() {
	b.Helper()
	b.conditioned("it is mended", configv1.OperatorDegraded, "False/AsExpected", "")
	b.untouched()
}

func (b steady) degraded(reason, message string) {
	b.Helper()
	b.conditioned(reason, configv1.OperatorDegraded, "True/SyncingFailed", message)
	b.conditioned("what runs, runs", configv1.OperatorAvailable, "True/AsExpected", "")
	b.untouched()
}

// TestFaultsAreNamed: what is wrong is said, what runs goes on, and all is well again without a restart.
func TestFaultsAreNamed(t *testing.T) {
	b := begunSteady(t)
	b.say(`{"machineAPIOperator": "x"}`)
	b.degraded("a required key", `Failed to resync for operator: 4.2 because images file `+b.images+`: key "kubeRBACProxy" is required`)
	b.say(good)
	b.well()
	b.must(os.Remove(b.images))
	b.degraded("no images file", "--images-json: open ")
	b.say(good)
	b.well()

	var i configv1.Infrastructure
	b.must(b.Get(t.Context(), client.ObjectKey{Name: "cluster"}, &i))
	i.Status.PlatformStatus.Type = configv1.NutanixPlatformType
	b.must(b.Status().Update(t.Context(), &i))
	b.degraded("a platform without an image", `key "clusterAPIControllerNutanix" is required on Nutanix`)
	i.Status.PlatformStatus = nil
	b.must(b.Status().Update(t.Context(), &i))
	b.degraded("a platform that is not said", "no platform provider found on install config")
	b.must(b.Delete(t.Context(), &i))
	b.degraded("no Infrastructure", "Infrastructure cluster is not there")
	b.infrastructure(configv1.AWSPlatformType)
	b.well()

	b.must(b.Get(t.Context(), client.ObjectKey{Name: "cluster"}, &i))
	i.Status.PlatformStatus.Type = configv1.NonePlatformType
	b.must(b.Status().Update(t.Context(), &i))
	b.conditioned("nobody manages machines there", configv1.OperatorAvailable, "True/AsExpected", "Cluster Machine API Operator is in NoOp mode")
	b.untouched()
}

// TestWithoutItsRoleBinding: Degraded names the right that is missed first, and the rights come back as the binding does.
func TestWithoutItsRoleBinding(t *testing.T) {
	b := begunSteady(t)
	var binding rbacv1.RoleBinding
	b.must(b.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-operator"}, &binding))
	b.must(b.Delete(t.Context(), &binding))
	var i configv1.Infrastructure
	b.must(b.Get(t.Context(), client.ObjectKey{Name: "cluster"}, &i))
	i.Annotations = map[string]string{"touched": "1"}
	b.must(b.Update(t.Context(), &i))
	b.degraded("a right is missing", "is forbidden: User")
	b.apply("../../../config/rbac/machine-api-operator/role_binding.yaml")
	b.well()
}

// TestPoliciesOfVSphere: they come with their gate, with the rights that the operator has.
func TestPoliciesOfVSphere(t *testing.T) {
	b := newBox(t)
	b.openshift()
	b.infrastructure(configv1.VSpherePlatformType)
	b.gates("VSphereMultiVCenterDay2")
	b.start(nil)
	for _, of := range []string{"machine", "machineset", "cpms"} {
		key := client.ObjectKey{Name: "vsphere-failure-domain-in-use-by-" + of}
		for _, o := range []client.Object{&admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}} {
			b.within(20*time.Second, key.Name, func() error { return b.Get(t.Context(), key, o) })
			t.Cleanup(func() { _ = b.Client.Delete(context.Background(), o) })
		}
	}
}

// TestRemediationOnBareMetal: the webhooks that this platform's machine controller serves are created, with
// the rights that the operator has, and are created again after a deletion.
func TestRemediationOnBareMetal(t *testing.T) {
	b := newBox(t)
	b.openshift()
	b.infrastructure(configv1.BareMetalPlatformType)
	b.gates()
	b.start(nil)
	key := client.ObjectKey{Name: "machine-api-metal3-remediation"}
	for _, o := range []client.Object{&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}} {
		there := func() error { return b.Get(t.Context(), key, o) }
		b.within(20*time.Second, "installed", there)
		b.must(b.Delete(t.Context(), o))
		b.within(20*time.Second, "put back", there)
		t.Cleanup(func() { _ = b.Client.Delete(context.Background(), o) })
	}
}

// TestBecomesOpenShift: the kinds of config.openshift.io come while the operator runs, and are watched from then on.
func TestBecomesOpenShift(t *testing.T) {
	b := newBox(t)
	b.start(nil)
	time.Sleep(time.Second)
	b.openshift()
	b.conditioned("no Infrastructure yet", configv1.OperatorDegraded, "True/SyncingFailed", "Infrastructure cluster is not there")
	b.infrastructure(configv1.AWSPlatformType)
	b.gates()
	b.deployed("it came", func(*appsv1.Deployment) bool { return true })
}

// TestElsewhere: a cluster without config.openshift.io. The operator says on its own Deployment how operands are.
func TestElsewhere(t *testing.T) {
	b := newBox(t)
	labels := map[string]string{"a": "b"}
	own := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "machine-api-operator"}}
	own.Spec.Selector, own.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	own.Spec.Template.Spec.Containers = []corev1.Container{{Name: "x", Image: "x"}}
	b.must(b.Create(t.Context(), own))
	said := func(reason, want string) {
		t.Helper()
		b.within(20*time.Second, reason, func() error {
			b.must(b.Get(t.Context(), client.ObjectKeyFromObject(own), own))
			var all []string
			for _, c := range own.Status.Conditions {
				all = append(all, fmt.Sprintf("%s=%s/%s/%s", c.Type, c.Status, c.Reason, c.Message))
			}
			if !slices.ContainsFunc(all, func(c string) bool { return strings.HasPrefix(c, want) }) {
				return fmt.Errorf("want %s, got %v", want, all)
			}
			return nil
		})
	}
	t.Run("unknown platform", func(t *testing.T) {
		b := *b
		b.T = t
		b.start(func(o *options) { o.given.Platform = "Moon" })
		said("bad input", `OperandsDegraded=True/SyncingFailed/Failed when progressing towards operator: 4.2 because --platform: platform "Moon" is not known`)
	})
	b.start(func(o *options) { o.given = operator.Given{Platform: "OpenStack", ClusterID: "c-1"} })
	b.deployed("by flags", func(d *appsv1.Deployment) bool {
		return strings.Contains(args(d, "machine-controller"), "--cluster-id=c-1") && d.Spec.Template.Spec.NodeSelector == nil
	})
	said("it goes on", "OperandsProgressing=True/SyncingResources/")
	b.rolledOut()
	said("all pods run", "OperandsAvailable=True/AsExpected/Cluster Machine API Operator is available at operator: 4.2")
	said("all pods run", "OperandsDegraded=False/")
	b.within(10*time.Second, "events", func() error {
		var list corev1.EventList
		b.must(b.List(t.Context(), &list, client.InNamespace(home)))
		for _, e := range list.Items {
			if e.InvolvedObject.Name == own.Name && e.Reason == "Status degraded" {
				return nil
			}
		}
		return fmt.Errorf("%d events", len(list.Items))
	})
}

// TestMetrics: section 9.1, for those who may get it.
func TestMetrics(t *testing.T) {
	port := devplanetest.FreePort(t)
	b := begun(t, func(o *options) { o.port = port })
	for _, o := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "scraper"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "scraper"}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "scraper"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "scraper"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: home, Name: "scraper"}}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "stranger"}},
	} {
		b.must(b.Create(t.Context(), o))
		t.Cleanup(func() { _ = b.Client.Delete(context.Background(), o) })
	}
	token := func(account string) string {
		r, err := b.env.Client.CoreV1().ServiceAccounts(home).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		b.must(err)
		return r.Status.Token
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // the process made its certificate itself
	get := func(token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/metrics", port), nil)
		b.must(err)
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := web.Do(req)
		for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); resp, err = web.Do(req) {
			time.Sleep(100 * time.Millisecond) // it has yet to begin to listen
		}
		b.must(err)
		defer resp.Body.Close()
		page, err := io.ReadAll(resp.Body)
		b.must(err)
		return resp.StatusCode, string(page)
	}
	for who, c := range map[string]struct {
		token string
		want  int
	}{"nobody": {"", 401}, "a liar": {"x", 401}, "a stranger": {token("stranger"), 403}} {
		if got, _ := get(c.token); got != c.want {
			t.Errorf("%s: %d, want %d", who, got, c.want)
		}
	}
	scraper := token("scraper")
	code, page := get(scraper)
	for end := time.Now().Add(time.Minute); !strings.Contains(page, "\nmapi_machine_items 0") && time.Now().Before(end); code, page = get(scraper) {
		time.Sleep(100 * time.Millisecond) // it has yet to lead
	}
	if code != 200 || !strings.Contains(page, "\nmapi_machine_items 0") || !strings.Contains(page, `mapi_mao_collector_up{kind="mapi_machine_items"} 1`) {
		t.Errorf("%d: %s", code, page[:min(len(page), 500)])
	}
}
