package reference

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/adapters/internal/nova"
)

// Habits are the differences between drivers.
type Habits struct {
	// NoStatus and NoListing: the driver has no such call.
	NoStatus, NoListing bool
	// Initializes: a server is complete only after it was marked.
	Initializes bool
	// Poll is the polling interval; 0 means 5 s.
	Poll time.Duration
	// Removal is how it deletes, and what it shows afterwards.
	Removal
	// Slow is the duration of each call that changes nothing.
	Slow time.Duration
}

// Removal are the differences between drivers in deletions.
type Removal struct {
	// Accepts: DeleteMachine returns once the deletion was accepted, and the server is deleted later.
	Accepts bool
	// Shows is how long the status of a machine shows a deleted server, if the provider ID names it, without
	// its state: EC2 lists instances for an hour after their end.
	Shows time.Duration
	// Lists: the listing shows it for as long. Refuses: the status fails instead.
	Lists, Refuses bool
}

// Driver is the driver.
type Driver struct {
	HTTP *http.Client
	Habits

	removed removed
}

var _ driver.Driver = &Driver{}

// providerName is the provider's name in its classes.
const providerName = "OpenStack"

// initialized is the metadata key of a complete server.
const initialized = "initialized"

// spec has the used fields of the spec of Gardener's driver for OpenStack.
type spec struct {
	ImageName        string            `json:"imageName"`
	FlavorName       string            `json:"flavorName"`
	Region           string            `json:"region"`
	AvailabilityZone string            `json:"availabilityZone"`
	KeyName          string            `json:"keyName"`
	NetworkID        string            `json:"networkID"`
	Tags             map[string]string `json:"tags"`
}

// open validates class and secret, and logs in, for each call.
func (d *Driver) open(ctx context.Context, class *v1alpha1.MachineClass, secret *corev1.Secret) (*nova.Cloud, spec, error) {
	var s struct{ Spec spec }
	switch {
	case class.Provider != providerName:
		return nil, s.Spec, status.Error(codes.InvalidArgument, fmt.Sprintf("the class is for %q, this driver for %q", class.Provider, providerName))
	case len(secret.Data["userData"]) == 0:
		return nil, s.Spec, status.Error(codes.InvalidArgument, "secretRef: userData is required")
	}
	if err := json.Unmarshal(class.ProviderSpec.Raw, &s); err != nil {
		return nil, s.Spec, status.Error(codes.InvalidArgument, err.Error())
	}
	if len(s.Spec.Tags) == 0 {
		return nil, s.Spec, status.Error(codes.InvalidArgument, "spec.tags: those of the cluster are required")
	}
	text := func(key string) string { return string(secret.Data[key]) }
	as := nova.Credentials{
		AuthURL: text("authURL"), Username: text("username"), Password: text("password"), Domain: text("domainName"), Project: text("tenantName"),
	}
	c, err := nova.Login(ctx, d.HTTP, as, s.Spec.Region)
	return c, s.Spec, coded(err)
}

func (d *Driver) poll() time.Duration {
	if d.Poll > 0 {
		return d.Poll
	}
	return 5 * time.Second
}

func providerID(region, id string) string { return "openstack:///" + region + "/" + id }

// CreateMachine creates a server, unless it exists, and waits until it is ACTIVE.
func (d *Driver) CreateMachine(ctx context.Context, r *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
	c, s, err := d.open(ctx, r.MachineClass, r.Secret)
	if err != nil {
		return nil, err
	}
	there, err := c.Servers(ctx, r.Machine.Name, s.Tags)
	if err != nil {
		return nil, coded(err)
	}
	var id string
	if len(there) > 0 {
		id = there[0].ID
	} else if id, err = order(ctx, c, r.Machine.Name, s, r.Secret.Data["userData"]); err != nil {
		return nil, coded(err)
	}
	out := &driver.CreateMachineResponse{ProviderID: providerID(s.Region, id), NodeName: r.Machine.Name, LastKnownState: "server " + id}
	err = await(ctx, c, id, d.poll(), func(i nova.Server, err error) (bool, error) {
		if i.Status == "ERROR" {
			return true, d.discard(ctx, c, i)
		}
		out.Addresses = i.NodeAddresses()
		return i.Status == "ACTIVE", err
	})
	return out, coded(err)
}

// discard deletes a server that was accepted and then failed, and returns its fault.
func (d *Driver) discard(ctx context.Context, c *nova.Cloud, s nova.Server) error {
	if _, err := c.Call(ctx, http.MethodDelete, c.Services["compute"]+"/servers/"+s.ID, nil, nil); err != nil && !nova.Gone(err) {
		return err
	}
	code := codes.Internal
	if strings.Contains(s.Fault.Message, "No valid host") || s.Fault.Message == "" {
		code = codes.ResourceExhausted
	}
	return status.Error(code, fmt.Sprintf("server %s went into ERROR: %s", s.ID, s.Fault.Message))
}

// order creates a server.
func order(ctx context.Context, c *nova.Cloud, name string, s spec, userData []byte) (string, error) {
	id, err := c.Order(ctx, nova.Order{
		Name: name, Image: s.ImageName, Flavor: s.FlavorName, KeyName: s.KeyName, Zone: s.AvailabilityZone, Network: s.NetworkID, Metadata: s.Tags,
	}, userData)
	if errors.Is(err, nova.ErrNoSuch) {
		err = status.Error(codes.InvalidArgument, err.Error())
	}
	return id, err
}

// InitializeMachine marks the server.
func (d *Driver) InitializeMachine(ctx context.Context, r *driver.InitializeMachineRequest) (*driver.InitializeMachineResponse, error) {
	if !d.Initializes {
		return nil, status.Error(codes.Unimplemented, "nothing is left to do after a server was made")
	}
	c, s, err := d.open(ctx, r.MachineClass, r.Secret)
	if err != nil {
		return nil, err
	}
	there, err := c.Servers(ctx, r.Machine.Name, s.Tags)
	if err != nil {
		return nil, coded(err)
	}
	if len(there) == 0 {
		return nil, status.Error(codes.NotFound, "there is no server "+r.Machine.Name)
	}
	mark := map[string]any{"metadata": map[string]string{initialized: "1"}}
	if _, err := c.Call(ctx, http.MethodPost, c.Services["compute"]+"/servers/"+there[0].ID+"/metadata", mark, nil); err != nil {
		return nil, status.Error(codes.Uninitialized, err.Error())
	}
	return &driver.InitializeMachineResponse{ProviderID: providerID(s.Region, there[0].ID), NodeName: r.Machine.Name, Addresses: there[0].NodeAddresses()}, nil
}

// DeleteMachine deletes the server of the provider ID, or else those of the name, and waits until they are
// deleted.
func (d *Driver) DeleteMachine(ctx context.Context, r *driver.DeleteMachineRequest) (*driver.DeleteMachineResponse, error) {
	c, s, err := d.open(ctx, r.MachineClass, r.Secret)
	if err != nil {
		return nil, err
	}
	var ids []string
	if id := r.Machine.Spec.ProviderID; id != "" {
		ids = []string{id[strings.LastIndexByte(id, '/')+1:]}
	} else {
		there, err := c.Servers(ctx, r.Machine.Name, s.Tags)
		if err != nil {
			return nil, coded(err)
		}
		for _, i := range there {
			ids = append(ids, i.ID)
		}
	}
	if len(ids) == 0 {
		return nil, status.Error(codes.NotFound, "there is no server "+r.Machine.Name)
	}
	for _, id := range ids {
		if _, err := c.Call(ctx, http.MethodDelete, c.Services["compute"]+"/servers/"+id, nil, nil); err != nil && !nova.Gone(err) {
			return nil, coded(err)
		}
		d.removed.note(providerID(s.Region, id), r.Machine.Name)
		if d.Accepts {
			continue
		}
		if err := await(ctx, c, id, d.poll(), func(_ nova.Server, err error) (bool, error) {
			if nova.Gone(err) {
				return true, nil
			}
			return false, err
		}); err != nil {
			return nil, coded(err)
		}
	}
	return &driver.DeleteMachineResponse{LastKnownState: "deleted"}, nil
}

// GetMachineStatus finds the server by name and tags.
func (d *Driver) GetMachineStatus(ctx context.Context, r *driver.GetMachineStatusRequest) (*driver.GetMachineStatusResponse, error) {
	if d.NoStatus {
		return nil, status.Error(codes.Unimplemented, "GetMachineStatus is not implemented")
	}
	if err := d.dawdle(ctx); err != nil {
		return nil, err
	}
	c, s, err := d.open(ctx, r.MachineClass, r.Secret)
	if err != nil {
		return nil, err
	}
	there, err := c.Servers(ctx, r.Machine.Name, s.Tags)
	switch {
	case err != nil:
		return nil, coded(err)
	case len(there) == 0 && d.shows(r.Machine.Spec.ProviderID) && d.Refuses:
		return nil, status.Error(codes.Internal, "server "+r.Machine.Spec.ProviderID+" has no state")
	case len(there) == 0 && d.shows(r.Machine.Spec.ProviderID):
		return &driver.GetMachineStatusResponse{ProviderID: r.Machine.Spec.ProviderID, NodeName: r.Machine.Name}, nil
	case len(there) == 0:
		return nil, status.Error(codes.NotFound, "there is no server "+r.Machine.Name)
	case len(there) > 1:
		return nil, status.Error(codes.OutOfRange, fmt.Sprintf("there are %d servers %s", len(there), r.Machine.Name))
	}
	out := &driver.GetMachineStatusResponse{ProviderID: providerID(s.Region, there[0].ID), NodeName: there[0].Name, Addresses: there[0].NodeAddresses()}
	if d.Initializes && there[0].Metadata[initialized] == "" {
		return out, status.Error(codes.Uninitialized, "the server is not marked")
	}
	return out, nil
}

// ListMachines lists the servers with the tags of the class.
func (d *Driver) ListMachines(ctx context.Context, r *driver.ListMachinesRequest) (*driver.ListMachinesResponse, error) {
	if d.NoListing {
		return nil, status.Error(codes.Unimplemented, "ListMachines is not implemented")
	}
	if err := d.dawdle(ctx); err != nil {
		return nil, err
	}
	c, s, err := d.open(ctx, r.MachineClass, r.Secret)
	if err != nil {
		return nil, err
	}
	all, err := c.Servers(ctx, "", s.Tags)
	if err != nil {
		return nil, coded(err)
	}
	out := &driver.ListMachinesResponse{MachineList: map[string]string{}}
	for _, i := range all {
		out.MachineList[providerID(s.Region, i.ID)] = i.Name
	}
	if d.Lists {
		for id, one := range d.removed.since(d.Shows) {
			out.MachineList[id] = one
		}
	}
	return out, nil
}

// GetVolumeIDs returns the names of Cinder volumes.
func (d *Driver) GetVolumeIDs(_ context.Context, r *driver.GetVolumeIDsRequest) (*driver.GetVolumeIDsResponse, error) {
	out := &driver.GetVolumeIDsResponse{}
	for _, v := range r.PVSpecs {
		switch {
		case v.Cinder != nil:
			out.VolumeIDs = append(out.VolumeIDs, v.Cinder.VolumeID)
		case v.CSI != nil && v.CSI.Driver == "cinder.csi.openstack.org":
			out.VolumeIDs = append(out.VolumeIDs, v.CSI.VolumeHandle)
		}
	}
	return out, nil
}
