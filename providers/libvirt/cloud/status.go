package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
)

// providerStatus is the status.providerStatus of the original.
type providerStatus struct {
	metav1.TypeMeta `json:",inline"`
	InstanceID      string `json:"instanceID,omitempty"`
	InstanceState   string `json:"instanceState,omitempty"`
}

// Status implements [provider.Session].
func (s *session) Status(i provider.Instance) ([]byte, error) {
	if s.class.API != provider.OpenShift {
		return nil, nil
	}
	return json.Marshal(providerStatus{
		TypeMeta:   metav1.TypeMeta{APIVersion: "libvirtproviderconfig.openshift.io/v1beta1", Kind: "LibvirtMachineProviderStatus"},
		InstanceID: i.ID, InstanceState: i.RawState,
	})
}

// Differences implements [provider.Session].
func (s *session) Differences(_ provider.Ref, i provider.Instance) (all []string) {
	if s.spec == nil {
		return nil
	}
	for _, f := range []struct {
		path, tag string
		says      int64
	}{{"domainMemory", tagMemory, s.spec.DomainMemory}, {"domainVcpu", tagVCPUs, s.spec.DomainVcpu}} {
		if has := i.Tags[f.tag]; has != "" && has != strconv.FormatInt(f.says, 10) {
			all = append(all, fmt.Sprintf("%s: the instance has %s, the spec says %d", f.path, has, f.says))
		}
	}
	return all
}

// architectures maps libvirt's names to those of Kubernetes.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64", "i686": "386"}

// Size implements [provider.Sizer].
func (s *session) Size(ctx context.Context) (size provider.Size, err error) {
	if s.spec == nil {
		return size, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	size = provider.Size{VCPU: s.spec.DomainVcpu, MemoryMiB: s.spec.DomainMemory, Labels: map[string]string{}}
	if v := s.spec.Volume.VolumeSize; v != nil {
		size.EphemeralStorageMiB = v.Value() >> 20
	}
	err = s.with(ctx, func(c call) error {
		t, err := c.conn.traitsOf(ctx)
		if err == nil {
			size.Architecture = architectures[t.arch]
		}
		return err
	})
	if err != nil {
		return provider.Size{}, fmt.Errorf("read the host's capabilities: %w", err)
	}
	return size, nil
}

// Unkept implements [provider.Maintainer]: the domain's ownership metadata was removed.
func (s *session) Unkept(ref provider.Ref, i provider.Instance) bool {
	return i.UID != "" && i.UID == ref.UID && i.Tags[tagMarked] != s.class.Cluster
}

// Maintain implements [provider.Maintainer]: it writes the ownership metadata again.
func (s *session) Maintain(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	err := s.with(ctx, func(c call) error {
		d, err := c.domainOf(ctx, i)
		if err != nil || d.marked {
			return err
		}
		m := marks{Cluster: s.class.Cluster, UID: ref.UID, Owner: s.class.Owner, Namespace: ref.Namespace, Name: ref.Name}
		if err := c.record(ctx, d, "machine", nsMachine, m); err != nil {
			return err
		}
		return c.record(ctx, d, "begun", nsBegun, begun{})
	})
	if err != nil {
		return fmt.Errorf("mark the domain of %s: %w", ref.Name, err)
	}
	return nil
}
