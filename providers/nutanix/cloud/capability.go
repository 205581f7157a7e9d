package cloud

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/nutanix/spec"
)

var (
	_ provider.Session    = &session{}
	_ provider.Maintainer = &session{}
	_ provider.Powerer    = &session{}
	_ provider.Sizer      = &session{}
)

// Account implements [provider.Session]: a Prism Central is one account, for all its users.
func (s *session) Account(ctx context.Context) (string, error) {
	c, err := s.client(ctx)
	if err != nil {
		return "", err
	}
	central, err := lookup{s}.central(ctx, c)
	if err == nil && central.uuid() == "" {
		err = provider.Errorf(provider.Transient, "the cluster of Prism Central has no UUID")
	}
	return central.uuid(), err
}

// readLag is how long a listing may lag. Nutanix documents no limit: a virtual machine is also read by its reserved
// UUID, which does not lag.
const readLag = 20 * time.Second

// Traits implements [provider.Session]. The original also writes the provider ID on nodes.
func (s *session) Traits() provider.Traits {
	t := provider.Traits{Scope: provider.WholeAccount, Source: s.site.source(), ReadLag: readLag, IdentifiesNodes: true, Identify: identify}
	if s.plan != nil && s.placeErr == nil {
		t.Choices = []provider.Choice{s.choice()}
	}
	return t
}

// instanceReady is the original's type of a condition: the virtual machine runs.
const instanceReady = "MachineInstanceReady"

// Status implements [provider.Session].
func (s *session) Status(i provider.Instance) ([]byte, error) {
	ready := metav1.Condition{
		Type: instanceReady, Status: metav1.ConditionFalse, Reason: "MachineInstanceNotReady", Message: "Machine instance is not ready", LastTransitionTime: metav1.NewTime(i.Created),
	}
	if i.State == provider.Running {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, "MachineInstanceReady", "Machine instance is ready"
	}
	created := metav1.Condition{
		Type: string(machinev1beta1.MachineCreation), Status: metav1.ConditionTrue, Reason: machinev1beta1.MachineCreationSucceededConditionReason,
		Message: "Machine successfully created", LastTransitionTime: metav1.NewTime(i.Created),
	}
	return json.Marshal(machinev1.NutanixMachineProviderStatus{
		TypeMeta: metav1.TypeMeta{APIVersion: machinev1.GroupVersion.String(), Kind: "NutanixMachineProviderStatus"},
		VmUUID:   &i.ID, Conditions: []metav1.Condition{created, ready},
	})
}

// Power implements [provider.Powerer]. Each call to reboot is another reboot.
func (s *session) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, _ string) error {
	c, err := s.client(ctx)
	if err != nil {
		return err
	}
	wanted := on
	switch op {
	case provider.PowerOn:
	case provider.PowerOff:
		wanted = off
	case provider.Reboot:
		v, err := finder{s}.one(ctx, c, i.ID)
		if err != nil {
			return err
		}
		if v != nil && v.Status.Resources.Power == on {
			return s.observe("reboot virtual machine "+i.ID, c.call(ctx, http.MethodPost, "/vms/"+i.ID+"/power_cycle", struct{}{}, nil))
		}
	default:
		return provider.Errorf(provider.Invalid, "there is no power operation %q", op)
	}
	if _, leaving := c.leaving.Recall(i.ID); leaving {
		return provider.Errorf(provider.Conflict, "virtual machine %s is being deleted", i.ID)
	}
	return s.observe("switch virtual machine "+i.ID, s.change(ctx, c, i.ID, "switch virtual machine "+i.ID, func(d *document) bool {
		r, ok := d.Spec["resources"].(map[string]any)
		if !ok || r["power_state"] == wanted {
			return false
		}
		r["power_state"] = wanted
		return true
	}))
}

// Size implements [provider.Sizer].
func (s *session) Size(context.Context) (provider.Size, error) {
	if s.plan == nil {
		return provider.Size{}, provider.Errorf(provider.Invalid, "the class has no spec that has a size")
	}
	p := s.plan
	return provider.Size{
		VCPU: int64(p.VCPUSockets) * int64(p.VCPUsPerSocket), MemoryMiB: spec.MiB(p.MemorySize), GPU: int64(len(p.GPUs)), EphemeralStorageMiB: spec.MiB(p.SystemDiskSize),
	}, nil
}
