package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/config"
	"github.com/millwright-dev/millwright/internal/admission"
	"github.com/millwright-dev/millwright/provider/admit"
)

var metav1UpdateOptions = metav1.UpdateOptions{}

const (
	validateMachine = "/validate-machine-openshift-io-v1beta1-machine"
	validateSet     = "/validate-machine-openshift-io-v1beta1-machineset"
	defaultMachine  = "/mutate-machine-openshift-io-v1beta1-machine"
	defaultSet      = "/mutate-machine-openshift-io-v1beta1-machineset"
)

// handlers are those of a cluster of the type Fake.
func handlers(secrets client.Reader) map[string]http.Handler {
	return admission.Handlers(admission.Options{
		Admitters: map[string]admit.Admitter{"Fake": fakeAdmitter{}},
		Cluster: func() admission.Cluster {
			return admission.Cluster{Type: "Fake", Platform: admit.Platform{ID: "cluster-x", Region: "r"}}
		},
		Secrets: secrets, Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), Log: logr.Discard(),
	})
}

// ask sends a review of an object, as an API server does; a nil old: the object is new.
func ask(t *testing.T, h http.Handler, now, old any) *admissionv1.AdmissionResponse {
	t.Helper()
	r := &admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create, Namespace: "ns", Object: runtime.RawExtension{Raw: encode(t, now)}}
	if old != nil {
		r.Operation, r.OldObject.Raw = admissionv1.Update, encode(t, old)
	}
	review := &admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: r}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(encode(t, review)))
	request.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request)
	answer := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil || answer.Response == nil {
		t.Fatalf("the answer %s: %v", w.Body, err)
	}
	return answer.Response
}

func encode(t *testing.T, o any) []byte {
	t.Helper()
	if raw, ok := o.(string); ok {
		return []byte(raw)
	}
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestEveryWebhookIsServed: what config/webhook tells API servers to call is there, and nothing else.
func TestEveryWebhookIsServed(t *testing.T) {
	mutating, validating, err := config.Webhooks()
	if err != nil {
		t.Fatal(err)
	}
	var want, names, got []string
	for _, c := range mutating {
		names = append(names, c.Name)
		for _, w := range c.Webhooks {
			want = append(want, *w.ClientConfig.Service.Path)
		}
	}
	for _, c := range validating {
		names = append(names, c.Name)
		for _, w := range c.Webhooks {
			want = append(want, *w.ClientConfig.Service.Path)
		}
	}
	for path := range handlers(nil) {
		got = append(got, path)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-called +served):\n%s", diff)
	}
	slices.Sort(names)
	if diff := cmp.Diff(slices.Compact(names), admission.Configurations); diff != "" {
		t.Errorf("configurations (-installed +kept):\n%s", diff)
	}
}

// TestDefaultsArePatches: a patch adds what is left out, and leaves the rest as it was written.
func TestDefaultsArePatches(t *testing.T) {
	for _, c := range []struct{ reason, path, object, want string }{
		{
			"a machine", defaultMachine,
			`{"kind":"Machine","metadata":{"generateName":"m-"},"spec":{"odd":9007199254740993,"providerSpec":{"value":{"size":"s","more":{"a":[1]}}}}}`,
			`{"kind":"Machine","metadata":{"generateName":"m-","labels":{"machine.openshift.io/cluster-api-cluster":"cluster-x"}},"spec":{"odd":9007199254740993,"providerSpec":{"value":{"size":"s","more":{"a":[1]},"region":"r"}}}}`,
		},
		{
			"a set", defaultSet,
			`{"metadata":{"name":"s"},"spec":{"template":{"spec":{"providerSpec":{"value":{"size":"s"}}}}}}`,
			`{"metadata":{"name":"s"},"spec":{"template":{"spec":{"providerSpec":{"value":{"size":"s","region":"r"}}}}}}`,
		},
		{
			"nothing is left out", defaultSet,
			`{"metadata":{"name":"s"},"spec":{"template":{"spec":{"providerSpec":{"value":{"region":"x"}}}}}}`,
			`{"metadata":{"name":"s"},"spec":{"template":{"spec":{"providerSpec":{"value":{"region":"x"}}}}}}`,
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			answer := ask(t, handlers(nil)[c.path], c.object, nil)
			if len(answer.Warnings) > 0 {
				t.Errorf("%s: warned %q of what it filled in itself", c.reason, answer.Warnings)
			}
			got := []byte(c.object)
			if answer.Patch != nil {
				patch, err := jsonpatch.DecodePatch(answer.Patch)
				if err != nil {
					t.Fatal(err)
				}
				if got, err = patch.Apply(got); err != nil {
					t.Fatal(err)
				}
			}
			if !answer.Allowed || !jsonpatch.Equal(got, []byte(c.want)) {
				t.Errorf("%s: allowed %v, %s, want %s", c.reason, answer.Allowed, got, c.want)
			}
		})
	}
	if answer := ask(t, handlers(nil)[defaultSet], set(""), nil); answer.Allowed || answer.Result.Message != noValue || answer.Result.Code != http.StatusForbidden {
		t.Errorf("a set without a spec: %+v", answer.Result)
	}
}

// TestAnswers: refusals are in words that clients look for; what cannot be judged passes.
func TestAnswers(t *testing.T) {
	const (
		label    = "metadata.labels[machine.openshift.io/cluster-api-cluster]: missing machine.openshift.io/cluster-api-cluster label."
		unlisted = `providerSpec.credentialsSecret: Invalid value: "n": not found. Expected CredentialsSecret to exist`
		named    = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","size":"s","credentialsSecret":{"name":"n"}}`
		panics   = `{"apiVersion":"machine.openshift.io/v1beta1","kind":"FakeSpec","size":"panic"}`
	)
	mine := labelled("machine.openshift.io/cluster-api-cluster", "cluster-x")
	one := func(s *machinev1.MachineSet) { s.Spec.Replicas = new(int32) }
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "n"}}
	blind := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("forbidden")
		},
	}).Build()
	for _, c := range []struct {
		reason, path string
		secrets      client.Reader
		now, old     any
		refused      string
		warnings     []string
	}{
		{"a good machine", validateMachine, nil, machine(good, mine), nil, "", nil},
		{"controllers make no machine without the label", validateMachine, nil, machine(good), nil, "", []string{label}},
		{"a refusal", validateMachine, nil, machine(sizeless, mine), nil, noSize, nil},
		{"an update that keeps what is wrong", validateMachine, nil, machine(sizeless, mine, annotated), machine(sizeless, mine), "", []string{noSize}},
		{"a machine in deletion", validateMachine, nil, machine("", deleting), machine("", deleting, finalizers("x")), "", nil},
		{"a secret that is there", validateMachine, fake.NewFakeClient(secret), machine(named, mine), nil, "", nil},
		{"a secret that is not", validateMachine, fake.NewFakeClient(), machine(named, mine), nil, "", []string{unlisted}},
		{"a secret that may not be read: nothing is known", validateMachine, blind, machine(named, mine), nil, "", nil},
		{"of a set", validateSet, fake.NewFakeClient(), set(named, one), nil, "", []string{unlisted}},
		{"a set without replicas", validateSet, nil, set(good), nil, "", []string{"spec.replicas: the Replicas field in Spec for machineset s is nil, this should not be allowed"}},
		{"a rule with a defect refuses nothing", validateMachine, nil, machine(panics, mine), nil, "", []string{"not judged: a rule failed: a defect"}},
		{"an object that is none refuses nothing", validateMachine, nil, `{"spec":[]}`, nil, "", []string{"not judged: decode the object: json: cannot unmarshal array into Go struct field Machine.spec of type v1beta1.MachineSpec"}},
		{
			"a health check", "/warn-machine-openshift-io-v1beta1-machinehealthcheck", nil,
			`{"spec":{"selector":{},"unhealthyConditions":[{"type":"Ready","status":"False","timeout":"soon"}]}}`, nil, "",
			[]string{`spec.unhealthyConditions[0].timeout: must be a duration like "5m", is "soon"`},
		},
		{
			"one of the older kind", "/warn-healthchecking-openshift-io-v1alpha1-machinehealthcheck", nil,
			`{"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"Equals"}]},"maxUnhealthy":"40%"}}`, nil, "",
			[]string{`spec.selector: "Equals" is not a valid label selector operator`},
		},
		{
			"a key of ours that does not exist, on a deployment", "/warn-machine-sapcloud-io-v1alpha1-machinedeployment", nil,
			`{"metadata":{"annotations":{"millwright.dev/rollout-cannary":"1"}},"spec":{"selector":{"matchLabels":{"a":"b"}},"strategy":{"type":"Recreate"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"class":{"kind":"MachineClass","name":"c"}}}}}`, nil, "",
			[]string{"metadata.annotations[millwright.dev/rollout-cannary]: there is no such annotation, and it has no effect: did you mean millwright.dev/rollout-canary?"},
		},
		{
			"a value that cannot be read is told once", "/warn-machine-openshift-io-v1beta1-machinehealthcheck", nil,
			`{"metadata":{"annotations":{"millwright.dev/remediation-cooldown":"soon"}},"spec":{"selector":{},"unhealthyConditions":[{"type":"Ready","status":"False","timeout":"5m"}]}}`, nil, "",
			[]string{`metadata.annotations[millwright.dev/remediation-cooldown]: must be a duration like "10m", is "soon"`},
		},
		{
			"one on an older kind of check", "/warn-healthchecking-openshift-io-v1alpha1-machinehealthcheck", nil,
			`{"metadata":{"annotations":{"millwright.dev/escalations":"reboot"}},"spec":{"selector":{"matchLabels":{"a":"b"}},"maxUnhealthy":"40%"}}`, nil, "",
			[]string{"metadata.annotations[millwright.dev/escalations]: there is no such annotation, and it has no effect: did you mean millwright.dev/escalation?"},
		},
		{
			"a deployment", "/warn-machine-openshift-io-v1beta1-machinedeployment", nil,
			`{"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"c"}}}}}`, nil, "",
			[]string{"spec.template.metadata.labels: are not matched by spec.selector"},
		},
		{
			"one of the other API", "/warn-machine-sapcloud-io-v1alpha1-machinedeployment", nil,
			`{"spec":{"selector":{"matchLabels":{"a":"b"}},"strategy":{"type":"Recreate"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"class":{"kind":"MachineClass"}}}}}`, nil, "",
			[]string{"spec.template.spec.class.name: is required"},
		},
		{
			"a class", "/warn-machine-sapcloud-io-v1alpha1-machineclass", nil,
			`{"providerSpec":{},"nodeTemplate":{"capacity":{"cpu":"1","memory":"1Gi"},"instanceType":"t","region":"","zone":"z"}}`, nil, "",
			[]string{"nodeTemplate.capacity: must have the key gpu", "nodeTemplate.region: must be set"},
		},
		{
			"a class in deletion", "/warn-machine-sapcloud-io-v1alpha1-machineclass", nil,
			`{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"},"providerSpec":{},"nodeTemplate":{"capacity":{},"instanceType":"t","region":"r","zone":"z"}}`, nil, "", nil,
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			answer := ask(t, handlers(c.secrets)[c.path], c.now, c.old)
			if answer.Allowed != (c.refused == "") || answer.Result.Message != c.refused {
				t.Errorf("%s: allowed %v, %q, want %q", c.reason, answer.Allowed, answer.Result.Message, c.refused)
			}
			if diff := cmp.Diff(c.warnings, answer.Warnings); diff != "" {
				t.Errorf("%s: warnings (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
