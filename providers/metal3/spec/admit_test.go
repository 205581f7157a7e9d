package spec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/metal3/spec"
)

// whole is a spec with all fields.
const whole = `{"apiVersion":"baremetal.cluster.k8s.io/v1alpha1","kind":"BareMetalMachineProviderSpec","metadata":{"creationTimestamp":null},` +
	`"image":{"url":"http://images.example.com/rhcos.qcow2","checksum":"http://images.example.com/rhcos.qcow2.sha256"},` +
	`"customDeploy":{"method":"install_coreos"},"userData":{"name":"worker-user-data","namespace":"machines"},` +
	`"hostSelector":{"matchLabels":{"role":"worker"},"matchExpressions":[{"key":"rack","operator":"In","values":["r1","r2"]},{"key":"broken","operator":"DoesNotExist"}]},` +
	`"credentialsSecret":{"name":"hosts"}}`

// installed is the spec that installers write.
const installed = `{"apiVersion":"baremetal.cluster.k8s.io/v1alpha1","kind":"BareMetalMachineProviderSpec","image":{"url":"","checksum":""},` +
	`"customDeploy":{"method":"install_coreos"},"userData":{"name":"worker-user-data-managed"},"hostSelector":{}}`

func TestAdmit(t *testing.T) {
	for _, r := range []struct {
		reason, base, patch string
		want                []string
	}{
		{"a good one", whole, `{}`, nil},
		{"one of an installer", installed, `{}`, nil},
		{"the smallest of the original", `{"image":{"url":"u","checksum":"c"},"userData":{"name":"u"}}`, `{}`, nil},
		{"another case, as YAML reads it", `{"Image":{"URL":"u","checkSum":"c"},"userdata":{"name":"u"}}`, `{}`, nil},
		{"nothing to boot", whole, `{"image":null,"customDeploy":null}`, []string{"image.checksum", "image.url"}},
		{"an image without a checksum", whole, `{"image":{"checksum":""},"customDeploy":null}`, []string{"image.checksum"}},
		{"a method beside half an image: it is not used", whole, `{"image":{"checksum":""}}`, nil},
		{"a label that none can have", whole, `{"hostSelector":{"matchLabels":{"role":"a b"}}}`, []string{"hostSelector.matchLabels[role]"}},
		{"an operator that there is not", whole, `{"hostSelector":{"matchExpressions":[{"key":"a","operator":"Near","values":["b"]}]}}`, []string{"hostSelector.matchExpressions[0]"}},
		{"values where there are none", whole, `{"hostSelector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]}}`, []string{"hostSelector.matchExpressions[0]"}},
		{"no values", whole, `{"hostSelector":{"matchExpressions":[{"key":"a","operator":"in"}]}}`, []string{"hostSelector.matchExpressions[0]"}},
		{"a secret without a name", whole, `{"credentialsSecret":{"name":""},"userData":{"name":""}}`, []string{"credentialsSecret.name", "userData.name"}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			a := admissiontest.Admission(admissiontest.Patched(t, r.base, r.patch))
			warnings, faults := spec.Admitter{}.Admit(a)
			if len(faults) > 0 {
				t.Errorf("refused: %v", faults)
			}
			warnings = slices.DeleteFunc(warnings, func(w string) bool { return strings.Contains(w, "is used only with both") })
			admissiontest.Same(t, "warnings", admissiontest.Warned(t, warnings), r.want)
			// The secrets were read by then.
			refused := slices.DeleteFunc(slices.Clone(r.want), func(field string) bool { return strings.HasSuffix(field, ".name") })
			if _, err := spec.DecodeOpenShift(a.Spec); (err != nil) != (len(refused) > 0) {
				t.Errorf("the controller reads it with %v", err)
			}
		})
	}
}

// TestUnknownFields: the original refuses them, so that a misspelt selector does not select any host;
// webhooks leave them to their caller.
func TestUnknownFields(t *testing.T) {
	raw := admissiontest.Patched(t, whole, `{"hostSelectr":{"matchLabels":{"a":"b"}}}`)
	warnings, faults := spec.Admitter{}.Admit(admissiontest.Admission(raw))
	if len(warnings)+len(faults) > 0 {
		t.Errorf("%q and %v: SpecShape says what fields there are", warnings, faults)
	}
	for api, decode := range map[string]func([]byte) (*spec.Machine, error){provider.OpenShift: spec.DecodeOpenShift, provider.Gardener: spec.DecodeGardener} {
		if m, err := decode(raw); m != nil || provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "hostSelectr") {
			t.Errorf("%s: becomes %v, %v", api, m, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, r := range []struct {
		reason, patch string
		want          []string
	}{
		{"nothing to warn of", `{}`, nil},
		{"no user data", `{"userData":null}`, []string{"userData"}},
		{"half an image that a method does not need", `{"image":{"url":""}}`, []string{"image"}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			warnings, _ := spec.Admitter{}.Admit(admissiontest.Admission(admissiontest.Patched(t, whole, r.patch)))
			admissiontest.Same(t, "warnings", admissiontest.Warned(t, warnings), r.want)
		})
	}
}

func TestSelector(t *testing.T) {
	m, err := spec.DecodeOpenShift([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		reason string
		labels labels.Set
		want   bool
	}{
		{"all of it holds", labels.Set{"role": "worker", "rack": "r2"}, true},
		{"a label is missing", labels.Set{"rack": "r2"}, false},
		{"an expression does not hold", labels.Set{"role": "worker", "rack": "r3"}, false},
		{"a label that must not be there", labels.Set{"role": "worker", "rack": "r1", "broken": ""}, false},
	} {
		if got := m.Selector().Matches(r.labels); got != r.want {
			t.Errorf("%s: %v is chosen: %t", r.reason, r.labels, got)
		}
	}
	if any, _ := spec.DecodeOpenShift([]byte(installed)); !any.Selector().Matches(labels.Set{}) {
		t.Error("an empty selector does not choose any host")
	}
	if (&spec.Machine{HostSelector: spec.HostSelector{MatchLabels: map[string]string{"a": "b c"}}}).Selector().Matches(labels.Set{}) {
		t.Error("a selector that was not judged chooses any host")
	}
}

func TestSecrets(t *testing.T) {
	for raw, want := range map[string]string{whole: "machines/worker-user-data hosts", installed: "/worker-user-data-managed ", `{}`: "/ "} {
		t.Run(raw, func(t *testing.T) {
			userData, credentials, err := spec.OpenShiftSecrets([]byte(raw))
			if got := userData.Namespace + "/" + userData.Name + " " + credentials.Name; err != nil || got != want {
				t.Errorf("%q names %q, %v; want %q", raw, got, err, want)
			}
		})
	}
}

func TestGardener(t *testing.T) {
	good := string(admissiontest.Patched(t, whole, `{"apiVersion":"`+spec.GardenerVersion+`","kind":"`+spec.GardenerKind+`","userData":null,"credentialsSecret":null}`))
	for _, r := range []struct{ reason, patch, field string }{
		{"a good one", `{}`, ""},
		{"an unknown field", `{"hostselector":{}}`, "hostselector"},
		{"secrets are the class's to name", `{"userData":{"name":"u"}}`, "userData"},
		{"a text for a list", `{"hostSelector":{"matchExpressions":"a"}}`, "hostSelector.matchExpressions"},
		{"nothing to boot", `{"image":null,"customDeploy":null}`, "image.url"},
	} {
		t.Run(r.reason, func(t *testing.T) {
			_, err := spec.DecodeGardener(admissiontest.Patched(t, good, r.patch))
			if (err != nil) != (r.field != "") || err != nil && (!names(err, r.field) || provider.KindOf(err) != provider.Invalid) {
				t.Errorf("says %v, want an Invalid error about %q", err, r.field)
			}
		})
	}
}

// names reports whether one of several errors is about the field.
func names(err error, field string) bool {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	return slices.ContainsFunc(all, func(err error) bool {
		e, ok := errors.AsType[*provider.Error](err)
		return ok && e.Field == field
	})
}
