package start

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// grant is what a role gives on resources of a group: in the namespace of the operator, or in the whole cluster.
type grant struct {
	cluster          bool
	group            string
	resources, verbs []string
}

func words(s string) []string { return strings.Fields(s) }

const (
	reads = "get list watch"
	all   = reads + " create update patch delete"
)

// operatorGrants are the rights of the original's operator, as release 4.22 installs them (0000_30_machine-api-operator_09_rbac): what
// its ClusterRole and its Role of that name grant.
func operatorGrants() []grant {
	return []grant{
		{true, "authentication.k8s.io", words("tokenreviews"), words("create")},
		{true, "authorization.k8s.io", words("subjectaccessreviews"), words("create")},
		{true, "config.openshift.io", words("clusteroperators clusteroperators/status"), words(reads + " create update")},
		{true, "config.openshift.io", words("infrastructures infrastructures/status"), words("get")},
		{true, "config.openshift.io", words("apiservers featuregates featuregates/status proxies clusterversions"), words(reads)},
		{true, "events.k8s.io", words("events"), words("create watch list patch")},
		{true, "", words("events"), words("create watch list patch")},
		{true, "admissionregistration.k8s.io", words("validatingwebhookconfigurations mutatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings"), words(reads + " create update")},
		{true, "machine.openshift.io", words("machines controlplanemachinesets machinesets"), words(reads)},
		{false, "", words("configmaps"), words(all)},
		{false, "coordination.k8s.io", words("leases"), words(all)},
		{false, "apps", words("deployments daemonsets"), words(all)},
		{false, "apps", words("replicasets"), words(reads)},
		{false, "", words("pods"), words(reads)},
		{false, "machine.openshift.io", words("*"), words("list watch")},
		{false, "", words("secrets"), words("get create")},
		{false, "", words("services"), words("create watch get list patch")},
		{false, "monitoring.coreos.com", words("servicemonitors"), words("create watch get list patch")},
	}
}

// without takes a verb away from a resource.
func without(grants []grant, verb, resource string) (out []grant) {
	for _, g := range grants {
		if !slices.Contains(g.resources, resource) {
			out = append(out, g)
			continue
		}
		others, less := g, g
		others.resources = slices.DeleteFunc(slices.Clone(g.resources), func(r string) bool { return r == resource })
		less.resources, less.verbs = []string{resource}, slices.DeleteFunc(slices.Clone(g.verbs), func(v string) bool { return v == verb })
		for _, left := range []grant{others, less} {
			if len(left.resources) > 0 && len(left.verbs) > 0 {
				out = append(out, left)
			}
		}
	}
	return out
}

// permit makes the roles of the operator's account grant this, and nothing else.
func (b *box) permit(grants []grant) {
	b.Helper()
	var cluster, inside []rbacv1.PolicyRule
	for _, g := range grants {
		rule := rbacv1.PolicyRule{APIGroups: []string{g.group}, Resources: g.resources, Verbs: g.verbs}
		if g.cluster {
			cluster = append(cluster, rule)
		} else {
			inside = append(inside, rule)
		}
	}
	key := client.ObjectKey{Name: "machine-api-operator"}
	var c rbacv1.ClusterRole
	b.must(b.Get(b.Context(), key, &c))
	c.Rules = cluster
	b.must(b.Update(b.Context(), &c))
	key.Namespace = home
	var r rbacv1.Role
	b.must(b.Get(b.Context(), key, &r))
	r.Rules = inside
	b.must(b.Update(b.Context(), &r))
}

// underOriginalRoles is a cluster whose operator has the rights of the original's. The roles that the test found come back.
func underOriginalRoles(t *testing.T, platform configv1.PlatformType) *box {
	t.Helper()
	b := newBox(t)
	var c rbacv1.ClusterRole
	var r rbacv1.Role
	b.must(b.Get(t.Context(), client.ObjectKey{Name: "machine-api-operator"}, &c))
	b.must(b.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-operator"}, &r))
	t.Cleanup(func() {
		for _, o := range []client.Object{&c, &r} {
			o.SetResourceVersion("")
			if err := b.Client.Update(context.Background(), o); err != nil {
				b.Error(err)
			}
		}
	})
	b.permit(operatorGrants())
	b.openshift()
	b.infrastructure(platform)
	b.gates("VSphereMultiVCenterDay2")
	return b
}

// TestOriginalRoles: with the original's roles all operands come to be, are put back, and follow what may not be watched.
func TestOriginalRoles(t *testing.T) {
	b := underOriginalRoles(t, configv1.VSpherePlatformType)
	b.start(nil)
	b.deployed("the first sync", func(*appsv1.Deployment) bool { return true })
	b.rolledOut()
	b.conditioned("all is there", configv1.OperatorAvailable, "True/AsExpected", "available at operator: 4.2")
	b.conditioned("all is well", configv1.OperatorDegraded, "False/AsExpected", "")
	hooks := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	key := client.ObjectKey{Name: "machine-api"}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "vsphere-failure-domain-in-use-by-machine"}}
	b.must(errors.Join(
		b.Get(t.Context(), key, hooks),
		b.Get(t.Context(), key, &admissionregistrationv1.MutatingWebhookConfiguration{}),
		b.Get(t.Context(), client.ObjectKeyFromObject(policy), policy),
		b.Get(t.Context(), client.ObjectKeyFromObject(policy), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}),
	))

	// A pass with nothing to do writes nothing.
	versions := func() string {
		d := b.deployment()
		b.must(errors.Join(b.Get(t.Context(), key, hooks), b.Get(t.Context(), client.ObjectKeyFromObject(policy), policy)))
		return fmt.Sprint(d.Generation, d.ResourceVersion, hooks.ResourceVersion, policy.ResourceVersion)
	}
	before := versions()
	b.must(b.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "mao-trusted-ca"}}))
	t.Cleanup(func() {
		_ = b.Client.Delete(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "mao-trusted-ca"}})
	})
	b.deployed("the bundle is known", func(d *appsv1.Deployment) bool { return d.Generation > 1 })
	b.rolledOut()
	b.conditioned("all runs", configv1.OperatorDegraded, "False/AsExpected", "")
	if after := versions(); after == before {
		t.Error("the bundle changed nothing")
	}
	before = versions()
	time.Sleep(3 * time.Second)
	if after := versions(); after != before {
		t.Errorf("written with nothing to do: %s, and %s before", after, before)
	}

	// What others write is put back, and what service CAs write stays.
	for i := range hooks.Webhooks {
		hooks.Webhooks[i].ClientConfig.CABundle = b.env.Config.CAData
	}
	fail := admissionregistrationv1.Fail
	hooks.Webhooks[0].FailurePolicy = &fail
	hooks.SetLabels(map[string]string{"theirs": "x"})
	b.must(b.Update(t.Context(), hooks, client.FieldOwner("kubectl-edit")))
	b.within(20*time.Second, "the policy is put back, and the bundle stays", func() error {
		b.must(b.Get(t.Context(), key, hooks))
		for _, h := range hooks.Webhooks {
			if *h.FailurePolicy != admissionregistrationv1.Ignore || len(h.ClientConfig.CABundle) == 0 || hooks.Labels["theirs"] == "" {
				return fmt.Errorf("%s: %s, %d bytes of CA, labels %v", h.Name, *h.FailurePolicy, len(h.ClientConfig.CABundle), hooks.Labels)
			}
		}
		return nil
	})

	// Infrastructures may only be read.
	var i configv1.Infrastructure
	b.must(b.Get(t.Context(), client.ObjectKey{Name: "cluster"}, &i))
	i.Status.PlatformStatus.Type = configv1.AWSPlatformType
	b.must(b.Status().Update(t.Context(), &i))
	b.within(30*time.Second, "the platform is another", func() error {
		return b.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-termination-handler"}, &appsv1.DaemonSet{})
	})
}

// TestOriginalRolesLackOne: a right that lacks is said on the ClusterOperator, with verb, resource and object, and comes back as the right does.
func TestOriginalRolesLackOne(t *testing.T) {
	b := underOriginalRoles(t, configv1.AWSPlatformType)
	b.must(b.Create(t.Context(), &configv1.Proxy{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}))
	b.start(nil)
	b.deployed("the first sync", func(*appsv1.Deployment) bool { return true })
	b.within(20*time.Second, "the termination handler", func() error {
		return b.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-termination-handler"}, &appsv1.DaemonSet{})
	})
	b.rolledOut()
	b.conditioned("all is there", configv1.OperatorAvailable, "True/AsExpected", "")
	n := 0
	pass := func() {
		n++
		b.say(strings.ReplaceAll(good, "mao:1", fmt.Sprintf("mao:%d", 1+n)))
	}
	for _, c := range []struct {
		verb, resource string
		says           []string
		// gone is deleted before, so that it has to be created.
		gone client.Object
	}{
		{"update", "validatingwebhookconfigurations", words("ValidatingWebhookConfiguration machine-api"), nil},
		{"update", "mutatingwebhookconfigurations", words("MutatingWebhookConfiguration machine-api"), nil},
		{"get", "infrastructures", words("Infrastructure cluster"), nil},
		{"get", "featuregates", words("FeatureGate cluster"), nil},
		{"get", "proxies", words("Proxy cluster"), nil},
		{"get", "deployments", words("Deployment machine-api-controllers"), nil},
		{"get", "configmaps", words("ConfigMap mao-trusted-ca"), nil},
		{"create", "mutatingwebhookconfigurations", words("MutatingWebhookConfiguration machine-api"), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "machine-api"}}},
		{"create", "daemonsets", words("DaemonSet machine-api-termination-handler"), &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "machine-api-termination-handler"}}},
	} {
		b.permit(without(operatorGrants(), c.verb, c.resource))
		time.Sleep(200 * time.Millisecond) // the API server's authorizer learns of it
		if c.gone != nil {
			b.must(b.Delete(t.Context(), c.gone))
		}
		pass()
		b.conditioned(c.verb+" "+c.resource, configv1.OperatorDegraded, "True/SyncingFailed", "cannot "+c.verb+` resource "`+c.resource+`"`)
		for _, text := range c.says {
			b.conditioned(c.verb+" "+c.resource, configv1.OperatorDegraded, "True/SyncingFailed", text)
		}
		b.permit(operatorGrants())
		time.Sleep(200 * time.Millisecond)
		pass()
		b.deployed("it goes on", func(d *appsv1.Deployment) bool {
			return d.Spec.Template.Spec.Containers[0].Image == fmt.Sprintf("mao:%d", 1+n)
		})
		b.within(20*time.Second, "so do the others", func() error {
			return b.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-termination-handler"}, &appsv1.DaemonSet{})
		})
		b.rolledOut()
		b.conditioned(c.verb+" "+c.resource+" is back", configv1.OperatorDegraded, "False/AsExpected", "")
	}
}

// TestOriginalRolesWithoutClusterOperator: where the ClusterOperator may not be written, its conditions are on the operator's own Deployment
// if that may be, and events say them in any case.
func TestOriginalRolesWithoutClusterOperator(t *testing.T) {
	b := underOriginalRoles(t, configv1.AWSPlatformType)
	lacks := without(operatorGrants(), "update", "clusteroperators/status")
	b.permit(append(slices.Clone(lacks), grant{false, "apps", words("deployments/status"), words("update")}))
	own := b.deploymentOfOperator()
	b.start(nil)
	b.within(40*time.Second, "the own Deployment says it", func() error {
		b.must(b.Get(t.Context(), client.ObjectKeyFromObject(own), own))
		for _, c := range own.Status.Conditions {
			if c.Type == "OperandsDegraded" && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, `cannot update resource "clusteroperators/status"`) && strings.Contains(c.Message, "machine-api") {
				return nil
			}
		}
		return fmt.Errorf("%+v", own.Status.Conditions)
	})
	b.deployed("operands are applied all the same", func(*appsv1.Deployment) bool { return true })
	b.within(20*time.Second, "an event says it", func() error {
		var list corev1.EventList
		b.must(b.List(t.Context(), &list))
		if !slices.ContainsFunc(list.Items, func(e corev1.Event) bool {
			return e.Reason == "Status degraded" && strings.Contains(e.Message, `cannot update resource "clusteroperators/status"`)
		}) {
			return fmt.Errorf("%d events say nothing of it", len(list.Items))
		}
		return nil
	})
	b.permit(operatorGrants())
	b.rolledOut()
	b.conditioned("the right is back", configv1.OperatorDegraded, "False/AsExpected", "")
}

// deploymentOfOperator makes the Deployment that the operator would run in.
func (b *box) deploymentOfOperator() *appsv1.Deployment {
	b.Helper()
	labels := map[string]string{"k8s-app": "machine-api-operator"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "machine-api-operator"}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "o", Image: "o"}}
	b.must(b.Create(b.Context(), d))
	return d
}
