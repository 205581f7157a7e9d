package cloud

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/millwright-dev/millwright/provider"
)

// Create implements [provider.Session]: it creates ports, then volumes, then the server, then tags the
// ports.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	if s.bare {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the class has no spec to make a server of %s from", ref.Name)
	}
	if only := s.plan.choice(); want.Choice != "" && want.Choice != only {
		return provider.Instance{}, provider.Errorf(provider.Invalid, "the spec has no choice %q: it has %q", want.Choice, only)
	}
	c, err := s.connect(ctx)
	if err != nil {
		return provider.Instance{}, err
	}
	cr := creator{call{s, c}, ref}
	found, err := cr.find(ctx, ref)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("look for servers of %s: %w", ref.Name, s.observe(err))
	}
	if v := oldest(found); v != nil {
		return s.toInstance(c, *v), s.observe(cr.tagPorts(ctx, *v))
	}
	v, err := cr.create(ctx, want)
	if provider.KindOf(err) == provider.Invalid && c.forget() {
		// The object of a cached name may have been replaced.
		v, err = cr.create(ctx, want)
	}
	if err != nil {
		return provider.Instance{}, fmt.Errorf("make a server for %s: %w", ref.Name, s.observe(err))
	}
	return s.toInstance(c, v), nil
}

// creator creates the server of one machine.
type creator struct {
	call
	ref provider.Ref
}

// oldest returns the existing server that every observer chooses; nil if none exists.
func oldest(all []servers.Server) (first *servers.Server) {
	for n, v := range all {
		if state(v) == provider.Terminated {
			continue
		}
		if first == nil || v.Created.Before(first.Created) || v.Created.Equal(first.Created) && v.ID < first.ID {
			first = &all[n]
		}
	}
	return first
}

// parts are the parts of a new server.
type parts struct {
	flavor, image, group string
	groups               []string
	ports                []ports.Port
	volumes              map[string]string
}

func (cr creator) create(ctx context.Context, want provider.Want) (servers.Server, error) {
	data, err := cr.processed(ctx, want.UserData)
	if err != nil {
		return servers.Server{}, err
	}
	p, err := cr.resolve(ctx)
	if err != nil {
		return servers.Server{}, err
	}
	h, err := holder(cr).hold(ctx, p.groups)
	if err != nil {
		return servers.Server{}, err
	}
	if h.server != "" {
		return cr.adopt(ctx, h)
	}
	p.ports = append(p.ports, h.port)
	if p.ports, err = holder(cr).furtherPorts(ctx, p); err != nil {
		return servers.Server{}, err
	}
	if err := cr.dress(ctx, p.ports); err != nil {
		return servers.Server{}, err
	}
	if p.volumes, err = cr.volumesReady(ctx, p.image); err != nil {
		return servers.Server{}, err
	}
	v, err := cr.createServer(ctx, p, data)
	if err != nil {
		return servers.Server{}, err
	}
	if err := cr.finish(ctx, p.ports, v.ID); err != nil {
		return servers.Server{}, err
	}
	for _, port := range p.ports {
		cr.provider.created.drop(port.ID)
	}
	cr.provider.checks.done(v.ID, check{at: cr.client.clock.Now()})
	return v, nil
}

// resolve resolves the names in the spec.
func (cr creator) resolve(ctx context.Context) (p parts, err error) {
	f, err := cr.client.flavor(ctx, cr.plan.paths["flavor"], cr.plan.flavor)
	if err != nil {
		return p, err
	}
	i, err := cr.client.imageOf(ctx, cr.plan.paths["image"], cr.plan.image)
	if err != nil {
		return p, err
	}
	p.flavor, p.image = f.ID, i.ID
	if p.groups, err = cr.client.groupsOf(ctx, cr.plan.groups); err != nil {
		return p, err
	}
	p.group, err = cr.client.serverGroup(ctx, cr.plan)
	return p, err
}

// adopt returns the server that the first port was created for.
func (cr creator) adopt(ctx context.Context, h held) (servers.Server, error) {
	v, err := get(ctx, cr.client, h.server)
	switch {
	case err != nil:
		return servers.Server{}, err
	case v == nil || isTerminated(*v):
		// The server was deleted: the next call creates another. Its port may say forever that it is bound,
		// if Neutron was unreachable at the deletion.
		if h.port.ID != "" {
			err = cr.client.deletePort(ctx, h.port.ID)
		}
		return servers.Server{}, errors.Join(provider.Errorf(provider.Conflict, "server %s of %s is going", h.server, cr.ref.Name), err)
	}
	return *v, nil
}

// createServer requests the server from Nova, once.
func (cr creator) createServer(ctx context.Context, p parts, data []byte) (servers.Server, error) {
	o := servers.CreateOpts{
		Name: cr.ref.Name, FlavorRef: p.flavor, ImageRef: p.image, AvailabilityZone: cr.plan.zone, Metadata: cr.serverMetadata(cr.ref), Tags: cr.serverTags(cr.ref),
		ConfigDrive: cr.plan.configDrive, BlockDevice: cr.blockDevices(p.image, p.volumes),
	}
	if o.UserData = data; len(data) > 0 && cr.class.API == provider.OpenShift {
		// The SDK does not encode text that could already be base64, such as the word "data"; here all user
		// data is encoded. For machine.sapcloud.io the SDK decides, as in the original: there are secrets
		// whose user data is encoded twice.
		o.UserData = []byte(base64.StdEncoding.EncodeToString(data))
	}
	if cr.plan.root != nil && cr.class.API == provider.OpenShift {
		o.ImageRef = ""
	}
	var nics []servers.Network
	for _, port := range p.ports {
		nics = append(nics, servers.Network{Port: port.ID})
	}
	o.Networks = nics
	hints := servers.SchedulerHintOpts{}
	if p.group != "" {
		// Unchecked: Nova reports an unknown group, with its name.
		hints.AdditionalProperties = map[string]any{"group": p.group}
	}
	made, err := servers.Create(ctx, cr.client.compute, keyed{o, cr.plan.key}, hints).Extract()
	if err != nil {
		return servers.Server{}, zone{cr.client.compute, cr.plan.zone, provider.ScopeZone}.closed(ctx, cr.plan.blame(err))
	}
	// Nova's answer has little more than the ID.
	return servers.Server{
		ID: made.ID, Name: cr.ref.Name, Status: "BUILD", Metadata: o.Metadata, Tags: &o.Tags, Created: cr.client.clock.Now().UTC(),
		Flavor: map[string]any{"original_name": cr.plan.flavor},
	}, nil
}

// keyed adds the key pair, which is an extension in the SDK.
type keyed struct {
	servers.CreateOpts
	key string
}

// ToServerCreateMap implements [servers.CreateOptsBuilder].
func (k keyed) ToServerCreateMap() (map[string]any, error) {
	all, err := k.CreateOpts.ToServerCreateMap()
	if server, ok := all["server"].(map[string]any); ok && k.key != "" {
		server["key_name"] = k.key
	}
	return all, err
}

// tagPorts tags the ports of an existing server: the process that created the server may have ended before it
// did.
func (cr creator) tagPorts(ctx context.Context, v servers.Server) error {
	if v.Metadata[metaUID] != cr.ref.UID || state(v) != provider.Pending {
		return nil
	}
	all, _, err := holder(cr).portsOf(ctx, cr.ref.UID)
	if err != nil {
		return err
	}
	var bare []ports.Port
	for _, p := range all {
		if tagged(p.Tags, tagServer) == "" {
			bare = append(bare, p)
		}
	}
	return cr.finish(ctx, bare, v.ID)
}
