package cloud

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
)

var (
	_ provider.Session    = &session{}
	_ provider.Maintainer = &session{}
	_ provider.Powerer    = &session{}
	_ provider.Sizer      = &session{}
)

// Traits implements [provider.Session]. The scope has VPC and resource group of the spec, where instances of
// the original are found.
func (s *session) Traits() provider.Traits {
	t := provider.Traits{Scope: provider.WholeAccount, Source: s.config.source(), ReadLag: readLag, Identify: identify}
	if s.plan != nil {
		t.Scope, t.Choices = s.plan.VPC+" "+s.plan.ResourceGroup, []provider.Choice{s.plan.choice()}
	}
	return t
}

// Differences implements [provider.Session].
func (s *session) Differences(_ provider.Ref, i provider.Instance) []string {
	if s.plan == nil {
		return nil
	}
	return s.plan.differences(i)
}

// The condition of a machine's status, as in the original.
const (
	conditionCreated  = "MachineCreated"
	creationSucceeded = "MachineCreationSucceeded"
)

// status is the original's IBMCloudMachineProviderStatus.
type status struct {
	ID         string      `json:"instanceId,omitempty"`
	State      string      `json:"instanceState,omitempty"`
	Conditions []condition `json:"conditions,omitempty"`
}

type condition struct {
	Type    string                 `json:"type"`
	Status  corev1.ConditionStatus `json:"status"`
	Probed  metav1.Time            `json:"lastProbeTime"`
	Changed metav1.Time            `json:"lastTransitionTime"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
}

// Status implements [provider.Session].
func (s *session) Status(i provider.Instance) ([]byte, error) {
	at := metav1.NewTime(i.Created)
	return json.Marshal(status{ID: i.ID, State: i.RawState, Conditions: []condition{{
		Type: conditionCreated, Status: corev1.ConditionTrue, Probed: at, Changed: at, Reason: creationSucceeded, Message: "Machine successfully created",
	}}})
}

// actions are VPC's names of power operations.
var actions = map[provider.PowerOp]string{provider.PowerOn: "start", provider.PowerOff: "stop", provider.Reboot: "reboot"}

// Power implements [provider.Powerer]. Each call to reboot is another reboot.
func (s *session) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, _ string) error {
	c, err := s.on(ctx, i.Region)
	if err != nil {
		return err
	}
	action := actions[op]
	if action == "" {
		return provider.Errorf(provider.Invalid, "there is no power operation %q", op)
	}
	now, err := finder{s}.one(ctx, c, i.ID)
	if err != nil {
		return err
	}
	if now == nil || now.Status == statusDeleting {
		return provider.Errorf(provider.Conflict, "instance %s does not exist", i.ID)
	}
	off := now.Status == statusStopped || now.Status == statusStopping
	switch {
	case op == provider.PowerOff && off, op == provider.PowerOn && !off:
		return nil
	case op == provider.Reboot && off:
		action = actions[provider.PowerOn]
	}
	post := c.vpc(http.MethodPost, "/instances/"+url.PathEscape(i.ID)+"/actions")
	post.body = struct {
		Type string `json:"type"`
	}{action}
	return s.observe(action+" instance "+i.ID, c.call(ctx, post, nil))
}

// accelerators are the resources by which pods request accelerators, by their maker.
var accelerators = map[string]corev1.ResourceName{"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "intel": "habana.ai/gaudi"}

// Size implements [provider.Sizer].
func (s *session) Size(ctx context.Context) (provider.Size, error) {
	if s.plan == nil {
		return provider.Size{}, provider.Errorf(provider.Invalid, "the class has no spec that names a profile")
	}
	c, err := s.on(ctx)
	if err != nil {
		return provider.Size{}, err
	}
	p, err := lookup{c}.profile(ctx, s.plan.Profile)
	if err != nil {
		return provider.Size{}, s.observe("look for instance profile "+s.plan.Profile, err)
	}
	size := provider.Size{
		VCPU: p.VCPU.get(), MemoryMiB: p.MemoryGiB.get() << 10, GPU: p.GPU.get(), EphemeralStorageMiB: s.plan.BootVolume.SizeGiB << 10, Architecture: p.Architecture.Value,
		Labels: map[string]string{corev1.LabelInstanceTypeStable: s.plan.Profile, corev1.LabelTopologyRegion: s.plan.Region, corev1.LabelTopologyZone: s.plan.Zone},
	}
	if size.GPU > 0 && len(p.GPUMaker.Values) > 0 {
		size.GPUResource = accelerators[strings.ToLower(p.GPUMaker.Values[0])]
	}
	return size, nil
}
