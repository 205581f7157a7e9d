package gardener

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/provider"
)

// userData is the key of the boot data in the secret for the driver.
const userData = "userData"

// noUserData replaces the boot data in calls that boot nothing: many drivers refuse a secret without it.
const noUserData = "#cloud-config\n"

// request builds the requests to a driver for one class.
type request struct {
	*Provider
	class provider.Class
	// digest is the digest of the spec and the credentials.
	digest string
}

// subject has the three parts of every request to a driver.
type subject struct {
	machine *v1alpha1.Machine
	class   *v1alpha1.MachineClass
	secret  *corev1.Secret
}

// about builds the subject of a machine. It shares nothing: drivers may change their input.
func (s *request) about(ctx context.Context, ref provider.Ref, boot []byte) (subject, error) {
	m, err := s.machine(ctx, ref)
	if err != nil {
		return subject{}, err
	}
	class, err := s.machineClass(ctx)
	if err != nil {
		return subject{}, err
	}
	return subject{machine: m, class: class, secret: s.secret(boot)}, nil
}

// machine is the Machine object. If it was deleted or belongs to another machine, its known fields are filled
// in.
func (s *request) machine(ctx context.Context, ref provider.Ref) (*v1alpha1.Machine, error) {
	m := &v1alpha1.Machine{}
	if ref.UID != "" {
		if err := s.read(ctx, provider.ObjectRef{Kind: "Machine", Namespace: ref.Namespace, Name: ref.Name}, m); err != nil {
			return nil, err
		}
	}
	if m.UID != types.UID(ref.UID) || ref.UID == "" {
		m = &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, UID: types.UID(ref.UID)}}
		m.Spec.Class.Kind, m.Spec.Class.Name = "MachineClass", s.class.Object.Name
	}
	m.APIVersion, m.Kind = v1alpha1.SchemeGroupVersion.String(), "Machine"
	m.Spec.ProviderID = ref.ProviderID
	if one, ok := s.memory.of(ref.UID); ok && one.lastKnownState != "" {
		m.Status.LastKnownState = one.lastKnownState
	}
	return m, nil
}

// machineClass is the MachineClass object with the session's spec, or only its known fields.
func (s *request) machineClass(ctx context.Context) (*v1alpha1.MachineClass, error) {
	c := &v1alpha1.MachineClass{}
	if s.class.Object.Name != "" {
		if err := s.read(ctx, s.class.Object, c); err != nil {
			return nil, err
		}
	}
	if c.UID == "" {
		c.Namespace, c.Name = s.class.Object.Namespace, s.class.Object.Name
		c.NodeTemplate = &v1alpha1.NodeTemplate{Capacity: maps.Clone(s.class.NodeCapacity), Region: s.class.Region, Zone: s.class.Zone}
	}
	c.APIVersion, c.Kind = v1alpha1.SchemeGroupVersion.String(), "MachineClass"
	c.ProviderSpec = runtime.RawExtension{Raw: append([]byte(nil), s.class.Spec...)}
	return c, nil
}

// read decodes an object of the control cluster; into stays empty if the object does not exist.
func (s *request) read(ctx context.Context, ref provider.ObjectRef, into any) error {
	if s.config.Objects == nil {
		return nil
	}
	ref.APIVersion = v1alpha1.SchemeGroupVersion.String()
	raw, err := s.config.Objects.Object(ctx, ref)
	if errors.Is(err, provider.ErrNoObject) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("read %s %s/%s for the driver: %w", ref.Kind, ref.Namespace, ref.Name, err)
	}
	return nil
}

// secret has the data of the class's secrets and the boot data.
func (s *request) secret(boot []byte) *corev1.Secret {
	data := make(map[string][]byte, len(s.class.Credentials)+1)
	for key, value := range s.class.Credentials {
		data[key] = append([]byte(nil), value...)
	}
	data[userData] = append([]byte(nil), boot...)
	if len(boot) == 0 {
		data[userData] = []byte(noUserData)
	}
	return &corev1.Secret{Data: data}
}
