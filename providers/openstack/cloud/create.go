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
	m := maker{errand{s, c}, ref}
	found, err := m.find(ctx, ref)
	if err != nil {
		return provider.Instance{}, fmt.Errorf("look for servers of %s: %w", ref.Name, s.observe(err))
	}
	if v := oldest(found); v != nil {
		return s.instance(c, *v), s.observe(m.mend(ctx, *v))
	}
	v, err := m.make(ctx, want)
	if provider.KindOf(err) == provider.Invalid && c.forget() {
		// The object of a cached name may have been replaced.
		v, err = m.make(ctx, want)
	}
	if err != nil {
		return provider.Instance{}, fmt.Errorf("make a server for %s: %w", ref.Name, s.observe(err))
	}
	return s.instance(c, v), nil
}

// maker creates the server of one machine.
type maker struct {
	errand
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

func (m maker) make(ctx context.Context, want provider.Want) (servers.Server, error) {
	data, err := m.processed(ctx, want.UserData)
	if err != nil {
		return servers.Server{}, err
	}
	p, err := m.look(ctx)
	if err != nil {
		return servers.Server{}, err
	}
	h, err := holder(m).hold(ctx, p.groups)
	if err != nil {
		return servers.Server{}, err
	}
	if h.server != "" {
		return m.adopt(ctx, h)
	}
	p.ports = append(p.ports, h.port)
	if p.ports, err = holder(m).furtherPorts(ctx, p); err != nil {
		return servers.Server{}, err
	}
	if err := m.dress(ctx, p.ports); err != nil {
		return servers.Server{}, err
	}
	if p.volumes, err = m.volumesReady(ctx, p.image); err != nil {
		return servers.Server{}, err
	}
	v, err := m.ask(ctx, p, data)
	if err != nil {
		return servers.Server{}, err
	}
	if err := m.finish(ctx, p.ports, v.ID); err != nil {
		return servers.Server{}, err
	}
	for _, port := range p.ports {
		m.provider.made.drop(port.ID)
	}
	m.provider.looks.done(v.ID, look{at: m.c.clock.Now()})
	return v, nil
}

// look resolves the names in the spec.
func (m maker) look(ctx context.Context) (p parts, err error) {
	f, err := m.c.flavor(ctx, m.plan.paths["flavor"], m.plan.flavor)
	if err != nil {
		return p, err
	}
	i, err := m.c.imageOf(ctx, m.plan.paths["image"], m.plan.image)
	if err != nil {
		return p, err
	}
	p.flavor, p.image = f.ID, i.ID
	if p.groups, err = m.c.groupsOf(ctx, m.plan.groups); err != nil {
		return p, err
	}
	p.group, err = m.c.serverGroup(ctx, m.plan)
	return p, err
}

// adopt returns the server that the first port was created for.
func (m maker) adopt(ctx context.Context, h held) (servers.Server, error) {
	v, err := get(ctx, m.c, h.server)
	switch {
	case err != nil:
		return servers.Server{}, err
	case v == nil || isTerminated(*v):
		// The server was deleted: the next call creates another. Its port may say forever that it is bound,
		// if Neutron was unreachable at the deletion.
		if h.port.ID != "" {
			err = m.c.removePort(ctx, h.port.ID)
		}
		return servers.Server{}, errors.Join(provider.Errorf(provider.Conflict, "server %s of %s is going", h.server, m.ref.Name), err)
	}
	return *v, nil
}

// ask requests the server from Nova, once.
func (m maker) ask(ctx context.Context, p parts, data []byte) (servers.Server, error) {
	o := servers.CreateOpts{
		Name: m.ref.Name, FlavorRef: p.flavor, ImageRef: p.image, AvailabilityZone: m.plan.zone, Metadata: m.serverMetadata(m.ref), Tags: m.serverTags(m.ref),
		ConfigDrive: m.plan.configDrive, BlockDevice: m.blockDevices(p.image, p.volumes),
	}
	if o.UserData = data; len(data) > 0 && m.class.API == provider.OpenShift {
		// The SDK does not encode text that could already be base64, such as the word "data"; here all user
		// data is encoded. For machine.sapcloud.io the SDK decides, as in the original: there are secrets
		// whose user data is encoded twice.
		o.UserData = []byte(base64.StdEncoding.EncodeToString(data))
	}
	if m.plan.root != nil && m.class.API == provider.OpenShift {
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
	made, err := servers.Create(ctx, m.c.compute, keyed{o, m.plan.key}, hints).Extract()
	if err != nil {
		return servers.Server{}, zone{m.c.compute, m.plan.zone, provider.ScopeZone}.closed(ctx, m.plan.blame(err))
	}
	// Nova's answer has little more than the ID.
	return servers.Server{
		ID: made.ID, Name: m.ref.Name, Status: "BUILD", Metadata: o.Metadata, Tags: &o.Tags, Created: m.c.clock.Now().UTC(),
		Flavor: map[string]any{"original_name": m.plan.flavor},
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

// mend tags the ports of an existing server: the process that created the server may have ended before it
// did.
func (m maker) mend(ctx context.Context, v servers.Server) error {
	if v.Metadata[metaUID] != m.ref.UID || state(v) != provider.Pending {
		return nil
	}
	all, _, err := holder(m).portsOf(ctx, m.ref.UID)
	if err != nil {
		return err
	}
	var bare []ports.Port
	for _, p := range all {
		if tagged(p.Tags, tagServer) == "" {
			bare = append(bare, p)
		}
	}
	return m.finish(ctx, bare, v.ID)
}
