package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

var (
	_ provider.ConsoleReader = &session{}
	_ provider.Maintainer    = &session{}
	_ provider.Powerer       = &session{}
	_ provider.Sizer         = &session{}
)

// Traits implements [provider.Session].
func (s *session) Traits() provider.Traits {
	t := provider.Traits{Scope: ownership{s}.scopeName(), ReadLag: readLag, RebootsOnce: true, Identify: identify}
	if s.plan != nil {
		t.Choices = []provider.Choice{s.plan.choice()}
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

// Status implements [provider.Session]. Classes have none.
func (s *session) Status(provider.Instance) ([]byte, error) { return nil, nil }

// Power implements [provider.Powerer].
func (s *session) Power(ctx context.Context, _ provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	c, err := s.client(ctx)
	if err != nil {
		return err
	}
	now, err := finder{s}.one(ctx, c, i.ID)
	if err != nil {
		return err
	}
	if now == nil || now.GetStatus() == compute.Instance_DELETING {
		return provider.Errorf(provider.Conflict, "instance %s does not exist", i.ID)
	}
	if request != "" { // a repeated call returns the operation of the first one
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s", i.ID, op, request))
		ctx = once(ctx, uuid(hex.EncodeToString(sum[:])))
	}
	off := now.GetStatus() == compute.Instance_STOPPED || now.GetStatus() == compute.Instance_STOPPING
	switch {
	case op == provider.PowerOff && off, op == provider.PowerOn && !off:
		return nil
	case op == provider.PowerOff:
		_, err = c.instances.Stop(ctx, &compute.StopInstanceRequest{InstanceId: i.ID})
	case op == provider.PowerOn:
		_, err = c.instances.Start(ctx, &compute.StartInstanceRequest{InstanceId: i.ID})
	case op == provider.Reboot && off:
		_, err = c.instances.Start(ctx, &compute.StartInstanceRequest{InstanceId: i.ID})
	case op == provider.Reboot:
		_, err = c.instances.Restart(ctx, &compute.RestartInstanceRequest{InstanceId: i.ID})
	default:
		return provider.Errorf(provider.Invalid, "there is no power operation %q", op)
	}
	return s.observe("switch instance "+i.ID, err)
}

// consolePort is the serial port with the output of the operating system.
const consolePort = 1

// Console implements [provider.ConsoleReader].
func (s *session) Console(ctx context.Context, _ provider.Ref, i provider.Instance, limit int) (string, error) {
	c, err := s.client(ctx)
	if err != nil {
		return "", err
	}
	out, err := c.instances.GetSerialPortOutput(ctx, &compute.GetInstanceSerialPortOutputRequest{InstanceId: i.ID, Port: consolePort})
	if err != nil {
		return "", s.observe("read the console of "+i.ID, err)
	}
	text := out.GetContents()
	return text[max(0, len(text)-limit):], nil
}

// architecture is that of all platforms of Compute Cloud.
const architecture = "amd64"

// gpuResource is the resource by which pods request GPUs: all of Compute Cloud are NVIDIA's.
const gpuResource = "nvidia.com/gpu"

// Size implements [provider.Sizer]. It makes no call: the spec has the size.
func (s *session) Size(context.Context) (provider.Size, error) {
	if s.plan == nil {
		return provider.Size{}, provider.Errorf(provider.Invalid, "the class has no spec that names a size")
	}
	r := s.plan.ResourcesSpec
	size := provider.Size{
		VCPU: r.Cores, GPU: r.GPUs, MemoryMiB: r.Memory >> 20, EphemeralStorageMiB: s.plan.BootDiskSpec.Size >> 20, Architecture: architecture,
		// The cloud controller manager sets no label for the type.
		Labels: map[string]string{corev1.LabelTopologyRegion: s.plan.Region(), corev1.LabelTopologyZone: s.plan.ZoneID},
	}
	if size.GPU > 0 {
		size.GPUResource = gpuResource
	}
	return size, nil
}
