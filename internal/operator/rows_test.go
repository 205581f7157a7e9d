package operator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/internal/operator/operands"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// served is what an API server of OpenShift serves.
type served struct{}

func (served) ServerGroups() (*metav1.APIGroupList, error) {
	out := &metav1.APIGroupList{}
	for group, version := range map[string]string{configv1.GroupName: "v1", machinev1.GroupName: "v1beta1"} {
		out.Groups = append(out.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{{Version: version}}})
	}
	return out, nil
}

// passing is an operator on a platform, with the names of what it applied, until refuses says why something is not.
type passing struct {
	*Operator
	applied []string
	refuses func(what string) error
}

func newPassing(t *testing.T, platform configv1.PlatformType) *passing {
	t.Helper()
	scheme := run.Scheme()
	if err := Scheme(scheme); err != nil {
		t.Fatal(err)
	}
	i := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Status: configv1.InfrastructureStatus{PlatformStatus: &configv1.PlatformStatus{Type: platform}}}
	g := &configv1.FeatureGate{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}}
	g.Status.FeatureGates = []configv1.FeatureGateDetails{{Version: "4.2", Enabled: []configv1.FeatureGateAttributes{{Name: "VSphereMultiVCenterDay2"}}}}
	images := filepath.Join(t.TempDir(), "images.json")
	const all = `{"machineAPIOperator": "mao", "kubeRBACProxy": "rbac", "clusterAPIControllerAWS": "aws", "clusterAPIControllerVSphere": "mao"}`
	if err := os.WriteFile(images, []byte(all), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &passing{refuses: func(string) error { return nil }}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(i, g).WithStatusSubresource(&configv1.ClusterOperator{}).WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
			u := o.(interface {
				GetKind() string
				GetName() string
			})
			what := u.GetKind() + " " + u.GetName()
			p.applied = append(p.applied, what)
			return p.refuses(what)
		},
	}).Build()
	p.Operator = New(Options{
		Client: c, Discovery: served{}, Events: record.NewFakeRecorder(100), Clock: testclock.NewFakePassiveClock(time.Unix(1000, 0)),
		Namespace: "ns", Release: "4.2", ImagesFile: images,
	})
	return p
}

// said is the message of a condition of the ClusterOperator, after its status.
func (p *passing) said(t *testing.T, kind configv1.ClusterStatusConditionType) string {
	t.Helper()
	var co configv1.ClusterOperator
	if err := p.Client.Get(t.Context(), client.ObjectKey{Name: operands.WebhooksName}, &co); err != nil {
		t.Fatal(err)
	}
	for _, c := range co.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Message
		}
	}
	return ""
}

// TestOrder: section 7.3, steps 3 to 6. Webhooks and policies come before the programs that use them, and
// those before the handler; a refused operand blocks none of the later ones, and all of that is reported.
func TestOrder(t *testing.T) {
	const deployment, daemonSet = "Deployment machine-api-controllers", "DaemonSet machine-api-termination-handler"
	hooks := []string{"ValidatingWebhookConfiguration machine-api", "MutatingWebhookConfiguration machine-api"}
	var policies []string
	for _, of := range []string{"machine", "machineset"} {
		policies = append(policies, "ValidatingAdmissionPolicy vsphere-failure-domain-in-use-by-"+of, "ValidatingAdmissionPolicyBinding vsphere-failure-domain-in-use-by-"+of)
	}
	for platform, want := range map[configv1.PlatformType][]string{
		configv1.AWSPlatformType:     slices.Concat(hooks, []string{deployment, daemonSet}),
		configv1.VSpherePlatformType: slices.Concat(hooks, policies, []string{deployment}),
		configv1.NonePlatformType:    nil,
	} {
		p := newPassing(t, platform)
		_, _ = p.Reconcile(t.Context(), ctrl.Request{}) // no controller runs the applied objects, which another test covers
		if !slices.Equal(p.applied, want) {
			t.Errorf("%s: applied %q, want %q", platform, p.applied, want)
		}
	}
	p := newPassing(t, configv1.AWSPlatformType)
	p.refuses = func(what string) error {
		if what == hooks[0] || what == deployment {
			return errors.New("no room for " + what)
		}
		return nil
	}
	_, err := p.Reconcile(t.Context(), ctrl.Request{})
	if len(p.applied) != 4 || err == nil || !strings.Contains(err.Error(), "no room for "+hooks[0]) || !strings.Contains(err.Error(), "no room for "+deployment) {
		t.Errorf("after refusals: applied %q, told %v", p.applied, err)
	}
	if got := p.said(t, configv1.OperatorDegraded); !strings.HasPrefix(got, "False") {
		t.Errorf("20 minutes are not over, and Degraded is %s", got)
	}
}

// TestResync: section 7.1, a cluster where nothing happens is looked at again after 10 to 20 minutes.
func TestResync(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 20 {
		p := newPassing(t, configv1.NonePlatformType)
		result, err := p.Reconcile(t.Context(), ctrl.Request{})
		if err != nil || result.RequeueAfter < 10*time.Minute || result.RequeueAfter > 20*time.Minute {
			t.Errorf("looks again after %s, %v", result.RequeueAfter, err)
		}
		if got := p.said(t, configv1.OperatorAvailable); got != "True Cluster Machine API Operator is in NoOp mode" {
			t.Errorf("Available is %s", got)
		}
		seen[result.RequeueAfter] = true
	}
	if len(seen) < 2 {
		t.Error("all operators look at the same moment")
	}
}

// TestRetries: a pass that fails is made again for ever, at most half a minute later.
func TestRetries(t *testing.T) {
	l, last := limiter(), time.Duration(0)
	for n := range 200 {
		after := l.When(reconcile.Request{})
		if after < last || after > 30*time.Second || n == 0 && after != 100*time.Millisecond {
			t.Fatalf("pause %d is %s, after one of %s", n, after, last)
		}
		last = after
	}
	if last != 30*time.Second {
		t.Errorf("the longest pause is %s", last)
	}
}
