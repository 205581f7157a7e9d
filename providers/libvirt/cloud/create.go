package cloud

import (
	"cmp"
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
)

// Create implements [provider.Session]: the volumes, the address, the domain, and its start, each of which is taken as it is where it is
// there already.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (made provider.Instance, err error) {
	if s.spec == nil {
		return made, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	if want.Choice != "" && want.Choice != choice(s.spec) {
		return made, provider.Errorf(provider.Invalid, "the spec has no choice %q", want.Choice)
	}
	err = s.with(ctx, func(e errand) error {
		d, err := maker{e}.create(ctx, ref, want)
		if err == nil {
			made, err = e.instance(ctx, d)
		}
		return err
	})
	if err != nil {
		return provider.Instance{}, fmt.Errorf("make a domain for %s: %w", ref.Name, err)
	}
	return made, nil
}

// maker is an errand that makes a domain.
type maker struct{ errand }

func (e maker) create(ctx context.Context, ref provider.Ref, want provider.Want) (*domain, error) {
	found, err := e.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		if d.UID != ref.UID {
			continue
		}
		if d.marked && !d.begun { // defined, and then nothing more
			return e.begin(ctx, d)
		}
		return d, nil
	}
	if len(found) > 0 {
		return found[0], nil
	}
	d, err := e.make(ctx, ref, want)
	if provider.KindOf(err) == provider.Exhausted {
		// Another choice may be asked for: nothing may be left. That it cannot be removed now says nothing about what came first.
		if _, left := remover(e).remove(ctx, ref, nil); left != nil {
			return nil, provider.Errorf(provider.Transient, "%w, and then remove what was made: %w", err, left)
		}
	}
	return d, err
}

func (e maker) make(ctx context.Context, ref provider.Ref, want provider.Want) (*domain, error) {
	b, err := e.body(ctx, ref, want)
	if err != nil {
		return nil, err
	}
	d, err := e.define(ctx, b)
	if err != nil {
		return nil, err
	}
	return e.begin(ctx, d)
}

// body is all that a domain is defined with.
type body struct {
	uuid   libvirt.UUID
	traits *traits
	marks  marks
	mac    string
	// network is a name; pool is that of the volumes.
	network, pool string
	disk          libvirt.StorageVol
	// cidata is the disk for cloud-init, ignition the file, of which there is one at most.
	cidata   *libvirt.StorageVol
	ignition string
}

// body makes what the domain needs. What cannot be made is found out before anything is.
func (e maker) body(ctx context.Context, ref provider.Ref, want provider.Want) (*body, error) {
	t, err := e.c.traitsOf(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := storage(e).pool(ctx)
	if err != nil {
		return nil, err
	}
	under, err := storage(e).base(ctx, pool)
	if err != nil {
		return nil, err
	}
	network, err := wiring(e).network(ctx)
	if err != nil {
		return nil, err
	}
	uuid := uuidFor(e.session, ref)
	b := &body{
		uuid: uuid, traits: t, mac: macOf(uuid), network: network.Name, pool: pool.Name,
		marks: marks{Cluster: e.class.Cluster, UID: ref.UID, Owner: e.class.Owner, Namespace: ref.Namespace, Name: ref.Name},
	}
	if b.ignition, err = storage(e).ignKey(ctx); err != nil {
		return nil, err
	}
	hostname := cmp.Or(e.spec.NetworkInterfaceHostname, ref.Name)
	f := formOf(e.spec, want.UserData)
	if f == formCloudInit {
		b.marks.Hostname = hostname
	}
	made, err := storage(e).madeBefore(ctx, ref)
	if err != nil {
		return nil, err
	}
	if b.disk, err = storage(e).makeDisk(ctx, pool, under, made.name(e.session, ref, volumeDisk)); err != nil {
		return nil, err
	}
	if f != formNone {
		data, err := bootData(f, ref, hostname, want.UserData)
		if err != nil {
			return nil, err
		}
		v, err := storage(e).makeData(ctx, pool, data, made.name(e.session, ref, string(f)))
		if err != nil {
			return nil, err
		}
		if err := e.hand(ctx, b, f, v); err != nil {
			return nil, err
		}
	}
	if e.spec.NetworkInterfaceAddress == "" {
		return b, nil
	}
	kept, err := wiring(e).reserve(ctx, network, b.mac, hostname)
	b.marks.Address = kept.IP
	if f != formCloudInit {
		b.marks.Hostname = kept.Name
	}
	return b, err
}

// before are the volumes that a create has made which was cut short.
type before []volume

func (e storage) madeBefore(ctx context.Context, ref provider.Ref) (out before, err error) {
	all, err := e.ours(ctx)
	for _, v := range all {
		if v.uid == ref.UID && v.Pool == e.spec.Pool() {
			out = append(out, v)
		}
	}
	return out, err
}

// name is what the volume of a kind is called by now, or shall be: another owner may have begun.
func (b before) name(s *session, ref provider.Ref, kind string) volumeName {
	for _, v := range b {
		if v.kind == kind {
			return v.volumeName
		}
	}
	return volumeNameFor(s, ref, kind)
}

// hand gives the guest its boot data.
func (e maker) hand(ctx context.Context, b *body, f form, v libvirt.StorageVol) (err error) {
	if f == formCloudInit {
		b.cidata = &v
		return nil
	}
	b.ignition, err = ask(ctx, e.c, func(l *libvirt.Libvirt) (string, error) { return l.StorageVolGetPath(v) })
	if err != nil {
		return fmt.Errorf("ask for the path of volume %s: %w", v.Name, err)
	}
	return nil
}

// ignKey is the path of the config that the spec names; empty: it names none.
func (e storage) ignKey(ctx context.Context) (string, error) {
	if e.spec.IgnKey == "" {
		return "", nil
	}
	at, err := ask(ctx, e.c, func(l *libvirt.Libvirt) (string, error) {
		v, err := l.StorageVolLookupByKey(e.spec.IgnKey)
		if err != nil {
			return "", err
		}
		return l.StorageVolGetPath(v)
	})
	if err != nil {
		return "", missing(fmt.Errorf("look for the Ignition config %s: %w", e.spec.IgnKey, err), "ignKey", libvirt.ErrNoStorageVol)
	}
	return at, nil
}

// begin starts a domain for the first time, and notes that.
func (e maker) begin(ctx context.Context, d *domain) (*domain, error) {
	if e.spec != nil && e.spec.Autostart {
		err := do(ctx, e.c, func(l *libvirt.Libvirt) error { return l.DomainSetAutostart(d.Domain, 1) })
		if err != nil {
			return nil, fmt.Errorf("let domain %s start with its host: %w", d.Domain.Name, err)
		}
	}
	if err := e.start(ctx, d); err != nil {
		return nil, err
	}
	if err := e.note(ctx, d, "begun", nsBegun, begun{}); err != nil {
		return nil, err
	}
	return e.read(ctx, d.Domain)
}

// start switches a domain on. One that is on stays as it is.
func (e errand) start(ctx context.Context, d *domain) error {
	err := do(ctx, e.c, func(l *libvirt.Libvirt) error {
		_, err := l.DomainCreateWithFlags(d.Domain, 0)
		return err
	})
	if err == nil {
		return nil
	}
	if on, looked := e.on(ctx, d); looked == nil && on {
		return nil
	}
	return fmt.Errorf("start domain %s: %w", d.Domain.Name, err)
}

// on reports whether a domain runs by now.
func (e errand) on(ctx context.Context, d *domain) (bool, error) {
	n, err := ask(ctx, e.c, func(l *libvirt.Libvirt) (int32, error) {
		n, _, err := l.DomainGetState(d.Domain, 0)
		return n, err
	})
	s, _ := state(libvirt.DomainState(n))
	return s == provider.Running, err
}

// note keeps something in the metadata of a domain, whether or not it runs.
func (e errand) note(ctx context.Context, d *domain, prefix, namespace string, value any) error {
	text, err := bare(namespace, value)
	if err != nil {
		return err
	}
	set := func(where libvirt.DomainModificationImpact) error {
		return do(ctx, e.c, func(l *libvirt.Libvirt) error {
			return l.DomainSetMetadata(d.Domain, int32(libvirt.DomainMetadataElement), libvirt.OptString{text}, libvirt.OptString{prefix}, libvirt.OptString{namespace}, where)
		})
	}
	err = set(libvirt.DomainAffectLive | libvirt.DomainAffectConfig)
	if is(err, libvirt.ErrOperationInvalid) { // it is off
		err = set(libvirt.DomainAffectConfig)
	}
	if err != nil {
		return fmt.Errorf("note %s on domain %s: %w", prefix, d.Domain.Name, err)
	}
	return nil
}

// Initialize implements [provider.Initializer]: it begins what Create has defined and not begun.
func (s *session) Initialize(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	err := s.with(ctx, func(e errand) error {
		d, err := e.given(ctx, i)
		if err != nil || d.begun {
			return err
		}
		_, err = maker{e}.begin(ctx, d)
		return err
	})
	if err != nil {
		return fmt.Errorf("begin the domain of %s: %w", ref.Name, err)
	}
	return nil
}

// given is the domain that an instance is.
func (e errand) given(ctx context.Context, i provider.Instance) (*domain, error) {
	d, err := ask(ctx, e.c, func(l *libvirt.Libvirt) (libvirt.Domain, error) { return l.DomainLookupByUUID(uuidFrom(i.ID)) })
	if err == nil {
		return e.read(ctx, d)
	}
	if is(err, libvirt.ErrNoDomain) {
		return nil, &provider.Error{Kind: provider.Conflict, Err: err}
	}
	return nil, fmt.Errorf("look for domain %s: %w", i.ID, err)
}
