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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
)

var (
	_ provider.ConsoleReader  = &session{}
	_ provider.Initializer    = &session{}
	_ provider.LeftoverLister = &session{}
	_ provider.Maintainer     = &session{}
	_ provider.Powerer        = &session{}
	_ provider.Sizer          = &session{}
)

// anyRegion is the region in which STS is asked for the account if no region is known: accounts have none.
const anyRegion = "us-east-1"

// Account implements [provider.Session].
func (s *session) Account(ctx context.Context) (string, error) {
	c, err := s.on(ctx, anyRegion)
	if err != nil {
		return "", s.observe("open the account", err)
	}
	name, err := c.account(ctx)
	if err == nil && name == "" {
		err = provider.Errorf(provider.Transient, "STS does not say which account it is")
	}
	return name, s.observe("ask whose the credentials are", err)
}

// readLag is how long EC2 may take to show a new instance: the originals wait as long.
const readLag = 20 * time.Second

// Traits implements [provider.Session].
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: s.scopeName(), Source: s.source, ReadLag: readLag, Choices: s.choices(), Identify: identify}
}

// scopeName has the tags by which instances are listed, and the parts of the spec that affect the listing:
// the pending initialization of each instance. Zones and types are no part of it.
func (s *session) scopeName() string {
	if s.plan == nil {
		return s.class.API
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %v %v %q", s.plan.keys, s.plan.routes, s.plan.prefixes, s.region))
	return hex.EncodeToString(sum[:8])
}

func (s *session) choices() []provider.Choice {
	if s.plan == nil {
		return nil
	}
	all := s.plan.choices()
	for n := range all {
		all[n].Region = s.region
	}
	return all
}

// Differences implements [provider.Session].
func (s *session) Differences(_ provider.Ref, i provider.Instance) []string {
	if s.plan == nil {
		return nil
	}
	return s.plan.differences(i)
}

// statusKind is the kind of the status of a machine of machine.openshift.io.
const statusKind = "AWSMachineProviderStatus"

// Status implements [provider.Session]. Classes of the other API have none.
func (s *session) Status(i provider.Instance) ([]byte, error) {
	if s.class.API != provider.OpenShift {
		return nil, nil
	}
	made := metav1.Condition{
		Type: string(machinev1beta1.MachineCreation), Status: metav1.ConditionTrue, Reason: machinev1beta1.MachineCreationSucceededConditionReason,
		Message: "Machine successfully created", LastTransitionTime: metav1.NewTime(i.Created),
	}
	if i.Fault != nil {
		made.Status, made.Reason, made.Message = metav1.ConditionFalse, machinev1beta1.MachineCreationFailedConditionReason, i.Fault.Error()
	}
	status := machinev1beta1.AWSMachineProviderStatus{
		TypeMeta:   metav1.TypeMeta{APIVersion: machinev1beta1.GroupVersion.String(), Kind: statusKind},
		InstanceID: aws.String(i.ID), InstanceState: aws.String(i.RawState), Conditions: []metav1.Condition{made},
	}
	if host := i.Tags[hostTag]; host != "" {
		status.DedicatedHost = &machinev1beta1.DedicatedHostStatus{ID: host}
	}
	return json.Marshal(status)
}

// Power implements [provider.Powerer]. Each call to reboot is another reboot.
func (s *session) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, _ string) error {
	c, err := s.on(ctx, i.Region)
	if err != nil {
		return s.observe("open the account", err)
	}
	ids := []string{i.ID}
	state, err := finder{s}.stateOf(ctx, c, i.ID)
	if err != nil {
		return err
	}
	off := state == types.InstanceStateNameStopped || state == types.InstanceStateNameStopping
	switch {
	case op == provider.PowerOff && off, op == provider.PowerOn && !off:
		return nil
	case op == provider.PowerOff:
		_, err = c.ec2.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: ids})
	case op == provider.PowerOn, op == provider.Reboot && off:
		_, err = c.ec2.StartInstances(ctx, &ec2.StartInstancesInput{InstanceIds: ids})
	case op == provider.Reboot:
		_, err = c.ec2.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: ids})
	default:
		return provider.Errorf(provider.Invalid, "there is no power operation %q", op)
	}
	return s.observe("switch instance "+i.ID, err)
}

// stateOf is the state of an instance; for one that has ended the error is a Conflict.
func (s finder) stateOf(ctx context.Context, c *client, id string) (types.InstanceStateName, error) {
	for i, err := range s.each(ctx, c, append(s.scopeOf(true), where("instance-id", id))) {
		if err != nil {
			return "", err
		}
		if state := stateOf(i); state != types.InstanceStateNameTerminated && state != types.InstanceStateNameShuttingDown {
			return state, nil
		}
	}
	return "", provider.Errorf(provider.Conflict, "instance %s is not there", id)
}

// Console implements [provider.ConsoleReader].
func (s *session) Console(ctx context.Context, _ provider.Ref, i provider.Instance, limit int) (string, error) {
	c, err := s.on(ctx, i.Region)
	if err != nil {
		return "", s.observe("open the account", err)
	}
	out, err := c.ec2.GetConsoleOutput(ctx, &ec2.GetConsoleOutputInput{InstanceId: aws.String(i.ID)})
	if err != nil {
		return "", s.observe("read the console of "+i.ID, err)
	}
	text, err := base64.StdEncoding.DecodeString(deref(out.Output))
	if err != nil {
		return "", provider.Errorf(provider.Transient, "read the console of %s: %w", i.ID, err)
	}
	return string(text[max(0, len(text)-limit):]), nil
}

// architectures maps EC2's words to Kubernetes'.
var architectures = map[types.ArchitectureType]string{
	types.ArchitectureTypeX8664: "amd64", types.ArchitectureTypeX8664Mac: "amd64", types.ArchitectureTypeArm64: "arm64",
	types.ArchitectureTypeArm64Mac: "arm64", types.ArchitectureTypeI386: "386",
}

// accelerators are the resources by which pods request accelerators, by manufacturer.
var accelerators = map[string]corev1.ResourceName{"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "habana": "habana.ai/gaudi"}

// Size implements [provider.Sizer].
func (s *session) Size(ctx context.Context) (provider.Size, error) {
	if s.plan == nil {
		return provider.Size{}, provider.Errorf(provider.Invalid, "the class has no spec that says a type")
	}
	c, err := s.on(ctx)
	if err != nil {
		return provider.Size{}, s.observe("open the account", err)
	}
	t, err := c.types.Get(ctx, s.plan.instanceType, func(ctx context.Context) (types.InstanceTypeInfo, error) {
		out, err := c.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{types.InstanceType(s.plan.instanceType)}})
		if err != nil {
			return types.InstanceTypeInfo{}, s.observe("look for type "+s.plan.instanceType, err)
		}
		if len(out.InstanceTypes) == 0 {
			return types.InstanceTypeInfo{}, provider.InvalidField(s.plan.names[ofType], "there is no type %q", s.plan.instanceType)
		}
		return out.InstanceTypes[0], nil
	})
	if err != nil {
		return provider.Size{}, err
	}
	return s.plan.sizeOf(t, s.region), nil
}

func (p *plan) sizeOf(t types.InstanceTypeInfo, region string) provider.Size {
	size := provider.Size{EphemeralStorageMiB: p.rootGiB << 10, Labels: map[string]string{
		corev1.LabelInstanceTypeStable: p.instanceType, corev1.LabelTopologyRegion: region,
	}}
	if t.VCpuInfo != nil {
		size.VCPU = int64(deref(t.VCpuInfo.DefaultVCpus))
	}
	if p.vcpus > 0 {
		size.VCPU = p.vcpus
	}
	if t.MemoryInfo != nil {
		size.MemoryMiB = deref(t.MemoryInfo.SizeInMiB)
	}
	if t.ProcessorInfo != nil && len(t.ProcessorInfo.SupportedArchitectures) > 0 {
		size.Architecture = architectures[t.ProcessorInfo.SupportedArchitectures[0]]
	}
	if t.GpuInfo != nil {
		for _, g := range t.GpuInfo.Gpus {
			size.GPU += int64(deref(g.Count))
			size.GPUResource = accelerators[strings.ToLower(deref(g.Manufacturer))]
		}
	}
	if len(p.zones) == 1 {
		size.Labels[corev1.LabelTopologyZone] = p.zones[0]
	}
	return size
}
