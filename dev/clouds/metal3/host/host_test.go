package host_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/dev/clouds/metal3/host"
)

var knobs = host.Knobs{Step: time.Second, Provision: 2 * time.Second, Deprovision: 2 * time.Second, Power: 2 * time.Second}

// lived returns the states of a host within so many seconds: each state once, with "+" if it is powered on.
func lived(h *host.Host, now *time.Time, seconds int) string {
	var all []string
	for range seconds * 2 {
		*now = now.Add(500 * time.Millisecond)
		for range 3 {
			*h = host.Next(*h, *now, knobs)
		}
		said := string(h.Status.Provisioning.State)
		if h.Status.PoweredOn {
			said += "+"
		}
		if len(all) == 0 || all[len(all)-1] != said {
			all = append(all, said)
		}
	}
	return strings.Join(all, " > ")
}

// changes are changes to a host, one after another, each after the host has come to rest.
type changes []func(*host.Host)

func TestLife(t *testing.T) {
	image := &metal3.Image{URL: "u", Checksum: "c"}
	const made, provisioned = "registering > inspecting > preparing > available", "provisioning > provisioned+"
	provision := func(h *host.Host) { h.Spec.Image, h.Spec.Online = image, true }
	withdraw := func(h *host.Host) { h.Spec.Image, h.Spec.Online = nil, false }
	breaks := func(kind metal3.ErrorType) func(*host.Host) {
		return func(h *host.Host) { h.Annotations[host.BreakAnnotation] = string(kind) }
	}
	note := func(key string) func(*host.Host) { return func(h *host.Host) { h.Annotations[key] = "" } }
	forget := func(key string) func(*host.Host) { return func(h *host.Host) { delete(h.Annotations, key) } }
	for _, r := range []struct {
		reason string
		change changes
		want   []string
	}{
		{"it is made ready", nil, []string{made}},
		{"an image is written, and withdrawn", changes{provision, withdraw}, []string{made, provisioned, "deprovisioning+ > available"}},
		{"a method is as good as an image", changes{func(h *host.Host) {
			h.Spec.CustomDeploy, h.Spec.Online = &metal3.CustomDeploy{Method: "m"}, true
		}}, []string{made, provisioned}},
		{"nothing is written while it is off", changes{func(h *host.Host) { h.Spec.Image = image }}, []string{made, "available"}},
		{
			"another image is another provisioning",
			changes{provision, func(h *host.Host) { h.Spec.Image = &metal3.Image{URL: "v", Checksum: "c"} }},
			[]string{made, provisioned, "deprovisioning+ > provisioning+ > provisioned+"},
		},
		{"one reboot", changes{provision, note("reboot.metal3.io")}, []string{made, provisioned, "provisioned > provisioned+"}},
		{
			"held off until somebody lets it go",
			changes{provision, note("reboot.metal3.io/x"), forget("reboot.metal3.io/x")},
			[]string{made, provisioned, "provisioned", "provisioned+"},
		},
		{"a host that is never off", changes{provision, func(h *host.Host) {
			h.Spec.DisablePowerOff, h.Spec.Online = true, false
		}}, []string{made, provisioned, "provisioned+"}},
		{
			"nothing is done to a host that is paused",
			changes{note(metal3.PausedAnnotation), provision, forget(metal3.PausedAnnotation)},
			[]string{made, "available", "available", provisioned},
		},
		{
			"it goes",
			changes{provision, func(h *host.Host) { h.DeletionTimestamp = &metav1.Time{Time: time.Now()} }},
			[]string{made, provisioned, "deprovisioning+ > powering off before delete > deleting"},
		},
		{
			"provisioning fails for as long as it is broken",
			changes{breaks(metal3.ProvisioningError), provision, forget(host.BreakAnnotation)},
			[]string{made, "available", "provisioning", "provisioned+"},
		},
		{
			"what fails to be provisioned can be given back",
			changes{breaks(metal3.ProvisioningError), provision, withdraw},
			[]string{made, "available", "provisioning", "deprovisioning > available"},
		},
		{"power fails", changes{provision, breaks(metal3.PowerManagementError), func(h *host.Host) { h.Spec.Online = false }}, []string{made, provisioned, "provisioned+", "provisioned+"}},
	} {
		t.Run(r.reason, func(t *testing.T) {
			h := host.Host{ObjectMeta: metav1.ObjectMeta{UID: "u", Annotations: map[string]string{}}}
			h.Spec.BMC.Address = "redfish://bmc"
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			for i, want := range r.want {
				if i > 0 {
					r.change[i-1](&h)
				}
				if got := lived(&h, &now, 12); got != want {
					t.Errorf("%d: it is %q, want %q", i, got, want)
				}
			}
			if h.DeletionTimestamp != nil && len(h.Finalizers) > 0 {
				t.Errorf("it is held by %v", h.Finalizers)
			}
		})
	}
}

// TestBeginnings: some hosts are not prepared for provisioning.
func TestBeginnings(t *testing.T) {
	for _, r := range []struct {
		reason string
		spec   func(*host.Spec)
		want   string
	}{
		{"one that something else has provisioned", func(s *host.Spec) {
			s.BMC.Address, s.ExternallyProvisioned, s.Online = "a", true, true
		}, "registering > externally provisioned > externally provisioned+"},
		{"one without a controller of its own", func(*host.Spec) {}, "unmanaged"},
	} {
		h, now := host.Host{}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		r.spec(&h.Spec)
		if got := lived(&h, &now, 5); got != r.want {
			t.Errorf("%s is %q, want %q", r.reason, got, r.want)
		}
	}
}

// TestErrors: an error is reported in the words of Metal3, and ends when it is repaired.
func TestErrors(t *testing.T) {
	for _, kind := range []metal3.ErrorType{
		metal3.RegistrationError, metal3.InspectionError, metal3.PreparationError, metal3.ProvisioningError, metal3.PowerManagementError,
		metal3.DetachError, metal3.ServicingError,
	} {
		h := host.Next(host.Host{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{host.BreakAnnotation: string(kind)}}}, time.Now(), knobs)
		if s := h.Status; s.ErrorType != kind || s.ErrorMessage == "" || s.ErrorCount == 0 || s.OperationalStatus != metal3.OperationalStatusError {
			t.Errorf("%s is told as %+v", kind, s)
		}
		delete(h.Annotations, host.BreakAnnotation)
		if s := host.Next(h, time.Now(), knobs).Status; s.ErrorType != "" || s.ErrorMessage != "" || s.OperationalStatus != metal3.OperationalStatusOK {
			t.Errorf("mended it is %+v", s)
		}
	}
}

// TestPure: the former version of a host is not changed, and users' fields stay.
func TestPure(t *testing.T) {
	raw := []byte(`{"metadata":{"name":"h","annotations":{"inspect.metal3.io/hardwaredetails":"{\"hostname\":\"h\",\"ramMebibytes\":1024}","reboot.metal3.io":""}},` +
		`"spec":{"online":true,"disablePowerOff":true,"bmc":{"address":"a","credentialsName":"b"},"consumerRef":{"name":"m"}},` +
		`"status":{"provisioning":{"state":"inspecting","ID":"x"},"poweredOn":true,"errorMessage":"","errorCount":0,"operationalStatus":""}}`)
	h, err := host.Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	was, _ := json.Marshal(h)
	next := host.Next(h, time.Now(), knobs)
	if is, _ := json.Marshal(h); string(is) != string(was) {
		t.Errorf("the host that was given is\n%s, was\n%s", is, was)
	}
	if next.Status.HardwareDetails == nil || next.Status.HardwareDetails.RAMMebibytes != 1024 || !next.Spec.DisablePowerOff ||
		*next.Spec.ConsumerRef != (corev1.ObjectReference{Name: "m"}) {
		t.Errorf("has become %+v", next)
	}
	if metadata, status := host.Changed(h, next); !metadata || !status || !slices.Contains(next.Finalizers, metal3.BareMetalHostFinalizer) {
		t.Errorf("changed: metadata %t, status %t", metadata, status)
	}
	if metadata, status := host.Changed(next, next); metadata || status {
		t.Error("nothing is a change")
	}
}
