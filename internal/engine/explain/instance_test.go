package explain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// TestInstance: the instance is shown as stored objects have it, with the time of that, and the report of the evidence apart from it.
func TestInstance(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	if i := InstanceOf(&MachineFacts{}, postmortem.Seen{At: at}); i != nil {
		t.Errorf("nothing is stored: %+v", i)
	}
	f := &MachineFacts{View: lifecycle.Machine{Recorded: lifecycle.Recorded{
		ProviderID: "aws:///eu-1b/i-1", Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.7"}},
		Origin: &lifecycle.Origin{Region: "eu-1", ChosenZone: "eu-1b", Account: "12"},
	}}}
	f.Made.Fields = []Field{{Name: "ami", Path: "spec.providerSpec.value.ami", Value: `{"id":"ami-1"}`}, {Name: "subnet", Value: "x"}}
	seen := postmortem.Seen{At: at, Said: []postmortem.Statement{{About: "condition MachineCreation", Status: "True", Message: "it\nruns.", Since: at}}}
	seen.Add("state", "running", "annotation a")
	seen.Add("type", "", "label b")
	console := strings.Repeat("line\n", 30) + "Kernel panic\n"
	f.Evidence = &Evidence{Where: "configmap blue/evidence", Record: postmortem.Record{
		Taken: at.Add(time.Hour), Console: console, Instance: &postmortem.Instance{ID: "i-1", State: "Stopped", RawState: "stopped by host", Zone: "eu-1b", Addresses: []string{"InternalIP 10.0.0.7"}},
	}}
	got := strings.Fields(History{Instance: InstanceOf(f, seen)}.Text())
	want := `Instance, as the status of the machine shows it, which has not changed since 2026-01-02T03:04:00Z:
  provider ID     aws:///eu-1b/i-1  spec.providerID
  state           running           annotation a
  InternalIP      10.0.0.7          status.addresses
  requested in    eu-1, eu-1b       condition InstanceRecord
  account         12                condition InstanceRecord
  requested image {"id":"ami-1"}    spec.providerSpec.value.ami
  condition MachineCreation: True, it runs (since 2026-01-02T03:04:00Z)

Instance, as the infrastructure reported it at 2026-01-02T04:04:00Z (configmap blue/evidence):
  ID        i-1
  state     Stopped (stopped by host)
  zone      eu-1b
  addresses InternalIP 10.0.0.7
Console, the last 20 of 31 kept lines (all: -o json): ` + strings.Repeat("line ", 19) + "Kernel panic"
	if text := strings.Join(got, " "); !strings.HasSuffix(text, strings.Join(strings.Fields(want), " ")) {
		t.Errorf("%s\nwant the end\n%s", text, want)
	}
}

// TestDepartedInstance: without an answer of the infrastructure, the report does not say that there was no instance.
func TestDepartedInstance(t *testing.T) {
	h := DepartedHistory(Evidence{Where: "configmap blue/evidence"}, nil)
	if text := h.Text(); !strings.Contains(text, "the infrastructure showed no instance, or could not be asked") || strings.Contains(text, "as the status") || strings.Contains(text, "Console") {
		t.Error(text)
	}
}
