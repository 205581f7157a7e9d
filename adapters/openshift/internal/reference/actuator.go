package reference

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/adapters/internal/nova"
)

// Habits are the differences between actuators.
type Habits struct {
	// Blocks: Create returns once the server is ACTIVE.
	Blocks bool
	// NoProviderID: machines are identified by their addresses, as with libvirt.
	NoProviderID bool
	// Poll is the polling interval while it blocks; 0 means 5 s.
	Poll time.Duration
}

// Actuator is the actuator.
type Actuator struct {
	Client client.Client
	HTTP   *http.Client
	Habits
}

const clusterLabel = "machine.openshift.io/cluster-api-cluster"

// settle is the time for which a new server may not be listed.
const settle = 20 * time.Second

// Create creates a server, unless it exists.
func (a *Actuator) Create(ctx context.Context, m *machinev1.Machine) error {
	s, err := a.open(ctx, m)
	if err != nil {
		return a.failed(ctx, m, err)
	}
	there, err := s.servers(ctx)
	if err != nil {
		return a.failed(ctx, m, err)
	}
	if len(there) > 0 {
		return a.say(ctx, m, s, there[0])
	}
	boot, err := a.secret(ctx, m.Namespace, s.spec.UserDataSecret.Name)
	if err != nil {
		return a.failed(ctx, m, err)
	}
	id, err := s.cloud.Order(ctx, nova.Order{
		Name: m.Name, Image: s.spec.Image, Flavor: s.spec.Flavor, Zone: s.spec.AvailabilityZone, Network: s.spec.Network, Metadata: s.tags,
	}, boot["userData"])
	if err != nil {
		return a.failed(ctx, m, err)
	}
	if err := a.ordered(ctx, m, id); err != nil {
		return err
	}
	if !a.Blocks {
		return nil
	}
	return a.failed(ctx, m, a.await(ctx, s, id))
}

// await waits until the server is running. It deletes a server that failed.
func (a *Actuator) await(ctx context.Context, s *site, id string) error {
	tick := time.NewTicker(max(a.Poll, time.Second))
	defer tick.Stop()
	for {
		server, err := s.cloud.Server(ctx, id)
		switch {
		case err != nil:
			return err
		case server.Status == "ACTIVE":
			return nil
		case server.Status == "ERROR":
			if err := s.remove(ctx, id); err != nil {
				return err
			}
			return &MachineError{Reason: machinev1.InsufficientResourcesMachineError, Message: "server " + id + " went into ERROR: " + server.Fault.Message}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// Exists reports whether the server exists. It asks to be called later about a new server.
func (a *Actuator) Exists(ctx context.Context, m *machinev1.Machine) (bool, error) {
	s, err := a.open(ctx, m)
	if err != nil {
		return false, err
	}
	there, err := s.servers(ctx)
	if err != nil {
		return false, err
	}
	st := statusOf(m)
	if len(there) == 0 && st.InstanceID != "" && m.DeletionTimestamp == nil && time.Since(st.Ordered.Time) < settle {
		return false, &RequeueAfterError{settle}
	}
	return len(there) > 0, nil
}

// Update writes the server's state to the machine.
func (a *Actuator) Update(ctx context.Context, m *machinev1.Machine) error {
	s, err := a.open(ctx, m)
	if err != nil {
		return err
	}
	there, err := s.servers(ctx)
	if err != nil {
		return err
	}
	if len(there) == 0 {
		return fmt.Errorf("server %s is not there any more", m.Name)
	}
	if err := a.say(ctx, m, s, there[0]); err != nil {
		return err
	}
	if there[0].Status == "BUILD" {
		return &RequeueAfterError{settle}
	}
	return nil
}

// Delete deletes the machine's servers.
func (a *Actuator) Delete(ctx context.Context, m *machinev1.Machine) error {
	s, err := a.open(ctx, m)
	if err != nil {
		return err
	}
	there, err := s.servers(ctx)
	if err != nil {
		return err
	}
	for _, one := range there {
		if err := s.remove(ctx, one.ID); err != nil {
			return err
		}
	}
	return nil
}

// failed is an error in the words of the controller, and takes it down in the Machine.
func (a *Actuator) failed(ctx context.Context, m *machinev1.Machine, err error) error {
	if err == nil {
		return nil
	}
	var mine *MachineError
	refused, is := errors.AsType[nova.Refused](err)
	switch {
	case errors.As(err, &mine):
	case errors.Is(err, nova.ErrNoSuch):
		mine = invalid("%v", err)
	case is && strings.Contains(strings.ToLower(refused.Body), "quota"):
		mine = &MachineError{Reason: machinev1.InsufficientResourcesMachineError, Message: refused.Body}
	case is && refused.Status == http.StatusBadRequest:
		mine = invalid("%v", err)
	default:
		mine = &MachineError{Reason: machinev1.CreateMachineError, Message: err.Error()}
	}
	if patched := a.condition(ctx, m, mine.Message); patched != nil {
		return errors.Join(mine, patched)
	}
	return fmt.Errorf("%s: failed to create: %w", m.Name, mine)
}

func (a *Actuator) secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	var s corev1.Secret
	err := a.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return nil, invalid("secret %s/%s does not exist", namespace, name)
	}
	return s.Data, err
}

func providerID(region, id string) *string { return ptr.To("openstack:///" + region + "/" + id) }
