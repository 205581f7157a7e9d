package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
)

var (
	_ provider.ConsoleReader = &session{}
	_ provider.Maintainer    = &session{}
	_ provider.Powerer       = &session{}
	_ provider.Sizer         = &session{}
)

// anyRegion is the region in which STS is asked for the account if no region is known: accounts have none.
const anyRegion = "cn-hangzhou"

// Account implements [provider.Session].
func (s *session) Account(ctx context.Context) (string, error) {
	c, err := s.on(ctx, anyRegion)
	if err != nil {
		return "", s.observe("open the account", err)
	}
	name, err := c.account(ctx)
	if err == nil && name == "" {
		err = provider.Errorf(provider.Transient, "the answer of STS has no account")
	}
	return name, s.observe("ask for the account of the credentials", err)
}

// readLag is how long ECS may take to show a new instance: the original of machine.openshift.io waits as
// long.
const readLag = 20 * time.Second

// Traits implements [provider.Session].
func (s *session) Traits() provider.Traits {
	t := provider.Traits{Scope: s.scopeName(), ReadLag: readLag, Identify: identify}
	if s.plan != nil {
		t.Choices = []provider.Choice{s.plan.choice()}
	}
	return t
}

// scopeName has the tags by which instances are listed. Zones and types are no part of it.
func (s *session) scopeName() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%v", ownership{s}.ownershipTags())) // maps are printed in order
	return hex.EncodeToString(sum[:8])
}

// Differences implements [provider.Session].
func (s *session) Differences(_ provider.Ref, i provider.Instance) []string {
	if s.plan == nil {
		return nil
	}
	return s.plan.differences(i)
}

// statusKind is the kind of the status of a machine of machine.openshift.io.
const statusKind = "AlibabaCloudMachineProviderStatus"

// Status implements [provider.Session]. Classes of the other API have none.
func (s *session) Status(i provider.Instance) ([]byte, error) {
	if s.class.API != provider.OpenShift {
		return nil, nil
	}
	created := metav1.Condition{
		Type: string(machinev1beta1.MachineCreation), Status: metav1.ConditionTrue, Reason: machinev1beta1.MachineCreationSucceededConditionReason,
		Message: "Machine successfully created", LastTransitionTime: metav1.NewTime(i.Created),
	}
	return json.Marshal(machinev1.AlibabaCloudMachineProviderStatus{
		TypeMeta:   metav1.TypeMeta{APIVersion: machinev1.GroupVersion.String(), Kind: statusKind},
		InstanceID: &i.ID, InstanceState: &i.RawState, Conditions: []metav1.Condition{created},
	})
}

// Power implements [provider.Powerer]. Each call to reboot is another reboot.
func (s *session) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, _ string) error {
	c, err := s.on(ctx, i.Region)
	if err != nil {
		return s.observe("open the account", err)
	}
	state, err := finder{s}.statusOf(ctx, c, i.ID)
	if err != nil {
		return err
	}
	off := state == stopped || state == stopping
	switch {
	case op == provider.PowerOff && off, op == provider.PowerOn && !off:
		return nil
	case op == provider.PowerOff:
		_, err = call(ctx, c, (*ecs.Client).StopInstanceWithContext, &ecs.StopInstanceRequest{InstanceId: &i.ID})
	case op == provider.PowerOn, op == provider.Reboot && off:
		_, err = call(ctx, c, (*ecs.Client).StartInstanceWithContext, &ecs.StartInstanceRequest{InstanceId: &i.ID})
	case op == provider.Reboot:
		_, err = call(ctx, c, (*ecs.Client).RebootInstanceWithContext, &ecs.RebootInstanceRequest{InstanceId: &i.ID})
	default:
		return provider.Errorf(provider.Invalid, "there is no power operation %q", op)
	}
	return s.observe("switch instance "+i.ID, err)
}

// statusOf is ECS's state of an instance; for one that does not exist the error is a Conflict.
func (s finder) statusOf(ctx context.Context, c *client, id string) (string, error) {
	for i, err := range s.each(ctx, c, withIDs(id)) {
		if err != nil {
			return "", err
		}
		if _, leaving := c.observed.leaving.Recall(id); !leaving {
			return deref(i.Status), nil
		}
	}
	return "", provider.Errorf(provider.Conflict, "instance %s does not exist", id)
}

// Console implements [provider.ConsoleReader].
func (s *session) Console(ctx context.Context, _ provider.Ref, i provider.Instance, limit int) (string, error) {
	c, err := s.on(ctx, i.Region)
	if err != nil {
		return "", s.observe("open the account", err)
	}
	out, err := call(ctx, c, (*ecs.Client).GetInstanceConsoleOutputWithContext, &ecs.GetInstanceConsoleOutputRequest{RegionId: &c.region, InstanceId: &i.ID})
	if err != nil {
		return "", s.observe("read the console of "+i.ID, err)
	}
	if out.Body == nil {
		return "", nil
	}
	text, err := base64.StdEncoding.DecodeString(deref(out.Body.ConsoleOutput))
	if err != nil {
		return "", provider.Errorf(provider.Transient, "read the console of %s: %w", i.ID, err)
	}
	return string(text[max(0, len(text)-limit):]), nil
}

// instanceType is a type of ECS.
type instanceType = ecs.DescribeInstanceTypesResponseBodyInstanceTypesInstanceType

// architectures maps ECS's words to Kubernetes'.
var architectures = map[string]string{"X86": "amd64", "ARM": "arm64"}

// accelerators are the resources by which pods request accelerators, by the first word of their name.
var accelerators = map[string]corev1.ResourceName{"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu"}

// Size implements [provider.Sizer].
func (s *session) Size(ctx context.Context) (provider.Size, error) {
	if s.plan == nil {
		return provider.Size{}, provider.Errorf(provider.Invalid, "the class has no spec that names a type")
	}
	c, err := s.on(ctx)
	if err != nil {
		return provider.Size{}, s.observe("open the account", err)
	}
	t, err := c.types.Get(ctx, s.plan.instanceType, func(ctx context.Context) (*instanceType, error) {
		out, err := call(ctx, c, (*ecs.Client).DescribeInstanceTypesWithContext, &ecs.DescribeInstanceTypesRequest{InstanceTypes: []*string{&s.plan.instanceType}})
		if err != nil {
			return nil, s.observe("look for type "+s.plan.instanceType, err)
		}
		if out.Body == nil || out.Body.InstanceTypes == nil {
			return nil, errNoList
		}
		for _, t := range out.Body.InstanceTypes.InstanceType {
			if deref(t.InstanceTypeId) == s.plan.instanceType {
				return t, nil
			}
		}
		return nil, provider.InvalidField(s.plan.names[ofType], "there is no type %q", s.plan.instanceType)
	})
	if err != nil {
		return provider.Size{}, err
	}
	return s.plan.sizeOf(t), nil
}

// defaultDiskGiB is the size of a system disk, unless the spec has one, or the image needs more.
const defaultDiskGiB = 40

func (p *plan) sizeOf(t *instanceType) provider.Size {
	disk := p.diskGiB
	if disk == 0 {
		disk = defaultDiskGiB
	}
	size := provider.Size{
		VCPU: int64(deref(t.CpuCoreCount)), MemoryMiB: int64(deref(t.MemorySize) * 1024), GPU: int64(deref(t.GPUAmount)), EphemeralStorageMiB: disk << 10,
		Architecture: architectures[deref(t.CpuArchitecture)],
		Labels:       map[string]string{corev1.LabelInstanceTypeStable: p.instanceType, corev1.LabelTopologyRegion: p.region},
	}
	if size.GPU > 0 {
		maker, _, _ := strings.Cut(deref(t.GPUSpec), " ")
		size.GPUResource = accelerators[strings.ToUpper(maker)]
	}
	if p.zone != "" {
		size.Labels[corev1.LabelTopologyZone] = p.zone
	}
	return size
}
