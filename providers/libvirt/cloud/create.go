package cloud

import (
	"cmp"
	"context"
	"fmt"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
)

// Create implements [provider.Session]: it creates the volumes, reserves the address, defines the domain and
// starts it. It keeps each of them that already exists.
func (s *session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (made provider.Instance, err error) {
	if s.spec == nil {
		return made, provider.Errorf(provider.Invalid, "the class has no spec")
	}
	if want.Choice != "" && want.Choice != choice(s.spec) {
		return made, provider.Errorf(provider.Invalid, "the spec has no choice %q", want.Choice)
	}
	err = s.with(ctx, func(c call) error {
		d, err := creator{c}.create(ctx, ref, want)
		if err == nil {
			made, err = c.toInstance(ctx, d)
		}
		return err
	})
	if err != nil {
		return provider.Instance{}, fmt.Errorf("create the domain of %s: %w", ref.Name, err)
	}
	return made, nil
}

// creator creates domains.
type creator struct{ call }

func (cr creator) create(ctx context.Context, ref provider.Ref, want provider.Want) (*domain, error) {
	found, err := cr.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		if d.UID != ref.UID {
			continue
		}
		if d.marked && !d.begun { // its creation ended before its first start
			return cr.firstStart(ctx, d)
		}
		return d, nil
	}
	if len(found) > 0 {
		return found[0], nil
	}
	d, err := cr.createNew(ctx, ref, want)
	if provider.KindOf(err) == provider.Exhausted {
		// The engine may request another choice next: this one must leave nothing behind. A failed deletion
		// does not change the cause.
		if _, left := deleter(cr).delete(ctx, ref, nil); left != nil {
			return nil, provider.Errorf(provider.Transient, "%w; deleting its volumes then failed: %w", err, left)
		}
	}
	return d, err
}

func (cr creator) createNew(ctx context.Context, ref provider.Ref, want provider.Want) (*domain, error) {
	b, err := cr.prepare(ctx, ref, want)
	if err != nil {
		return nil, err
	}
	d, err := cr.define(ctx, b)
	if err != nil {
		return nil, err
	}
	return cr.firstStart(ctx, d)
}

// prepared has the dependants and properties of a domain to be defined.
type prepared struct {
	uuid   libvirt.UUID
	traits *traits
	marks  marks
	mac    string
	// network is a name; pool is the pool of the volumes.
	network, pool string
	disk          libvirt.StorageVol
	// cidata is the disk for cloud-init, ignition the file for Ignition. At most one of them is set.
	cidata   *libvirt.StorageVol
	ignition string
}

// prepare creates the domain's dependants. It validates first what needs no creation.
func (cr creator) prepare(ctx context.Context, ref provider.Ref, want provider.Want) (*prepared, error) {
	t, err := cr.conn.traitsOf(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := storage(cr).pool(ctx)
	if err != nil {
		return nil, err
	}
	under, err := storage(cr).base(ctx, pool)
	if err != nil {
		return nil, err
	}
	network, err := networking(cr).network(ctx)
	if err != nil {
		return nil, err
	}
	uuid := uuidFor(cr.session, ref)
	b := &prepared{
		uuid: uuid, traits: t, mac: macOf(uuid), network: network.Name, pool: pool.Name,
		marks: marks{Cluster: cr.class.Cluster, UID: ref.UID, Owner: cr.class.Owner, Namespace: ref.Namespace, Name: ref.Name},
	}
	if b.ignition, err = storage(cr).ignKey(ctx); err != nil {
		return nil, err
	}
	hostname := cmp.Or(cr.spec.NetworkInterfaceHostname, ref.Name)
	f := formOf(cr.spec, want.UserData)
	if f == formCloudInit {
		b.marks.Hostname = hostname
	}
	made, err := storage(cr).findExisting(ctx, ref)
	if err != nil {
		return nil, err
	}
	if b.disk, err = storage(cr).createDisk(ctx, pool, under, made.name(cr.session, ref, volumeDisk)); err != nil {
		return nil, err
	}
	if f != formNone {
		data, err := bootData(f, ref, hostname, want.UserData)
		if err != nil {
			return nil, err
		}
		v, err := storage(cr).createData(ctx, pool, data, made.name(cr.session, ref, string(f)))
		if err != nil {
			return nil, err
		}
		if err := cr.attach(ctx, b, f, v); err != nil {
			return nil, err
		}
	}
	if cr.spec.NetworkInterfaceAddress == "" {
		return b, nil
	}
	kept, err := networking(cr).reserve(ctx, network, b.mac, hostname)
	b.marks.Address = kept.IP
	if f != formCloudInit {
		b.marks.Hostname = kept.Name
	}
	return b, err
}

// existing are the volumes of an interrupted creation.
type existing []volume

func (s storage) findExisting(ctx context.Context, ref provider.Ref) (out existing, err error) {
	all, err := s.ours(ctx)
	for _, v := range all {
		if v.uid == ref.UID && v.Pool == s.spec.Pool() {
			out = append(out, v)
		}
	}
	return out, err
}

// name is the name of the existing or new volume of a kind: the existing one may have been created by another
// owner.
func (b existing) name(s *session, ref provider.Ref, kind string) volumeName {
	for _, v := range b {
		if v.kind == kind {
			return v.volumeName
		}
	}
	return volumeNameFor(s, ref, kind)
}

// attach passes the boot data to the guest.
func (cr creator) attach(ctx context.Context, b *prepared, f form, v libvirt.StorageVol) (err error) {
	if f == formCloudInit {
		b.cidata = &v
		return nil
	}
	b.ignition, err = ask(ctx, cr.conn, func(l *libvirt.Libvirt) (string, error) { return l.StorageVolGetPath(v) })
	if err != nil {
		return fmt.Errorf("read the path of volume %s: %w", v.Name, err)
	}
	return nil
}

// ignKey is the path of the Ignition config in the spec; empty: the spec has none.
func (s storage) ignKey(ctx context.Context) (string, error) {
	if s.spec.IgnKey == "" {
		return "", nil
	}
	at, err := ask(ctx, s.conn, func(l *libvirt.Libvirt) (string, error) {
		v, err := l.StorageVolLookupByKey(s.spec.IgnKey)
		if err != nil {
			return "", err
		}
		return l.StorageVolGetPath(v)
	})
	if err != nil {
		return "", missing(fmt.Errorf("find the Ignition config %s: %w", s.spec.IgnKey, err), "ignKey", libvirt.ErrNoStorageVol)
	}
	return at, nil
}

// firstStart starts a domain for the first time, and records that.
func (cr creator) firstStart(ctx context.Context, d *domain) (*domain, error) {
	if cr.spec != nil && cr.spec.Autostart {
		err := do(ctx, cr.conn, func(l *libvirt.Libvirt) error { return l.DomainSetAutostart(d.Domain, 1) })
		if err != nil {
			return nil, fmt.Errorf("set the autostart of domain %s: %w", d.Domain.Name, err)
		}
	}
	if err := cr.start(ctx, d); err != nil {
		return nil, err
	}
	if err := cr.record(ctx, d, "begun", nsBegun, begun{}); err != nil {
		return nil, err
	}
	return cr.read(ctx, d.Domain)
}

// start powers a domain on, unless it is on.
func (c call) start(ctx context.Context, d *domain) error {
	err := do(ctx, c.conn, func(l *libvirt.Libvirt) error {
		_, err := l.DomainCreateWithFlags(d.Domain, 0)
		return err
	})
	if err == nil {
		return nil
	}
	if on, looked := c.running(ctx, d); looked == nil && on {
		return nil
	}
	return fmt.Errorf("start domain %s: %w", d.Domain.Name, err)
}

// running reports whether a domain runs now.
func (c call) running(ctx context.Context, d *domain) (bool, error) {
	n, err := ask(ctx, c.conn, func(l *libvirt.Libvirt) (int32, error) {
		n, _, err := l.DomainGetState(d.Domain, 0)
		return n, err
	})
	s, _ := state(libvirt.DomainState(n))
	return s == provider.Running, err
}

// record stores an element in the metadata of a domain, running or not.
func (c call) record(ctx context.Context, d *domain, prefix, namespace string, value any) error {
	text, err := bare(namespace, value)
	if err != nil {
		return err
	}
	set := func(where libvirt.DomainModificationImpact) error {
		return do(ctx, c.conn, func(l *libvirt.Libvirt) error {
			return l.DomainSetMetadata(d.Domain, int32(libvirt.DomainMetadataElement), libvirt.OptString{text}, libvirt.OptString{prefix}, libvirt.OptString{namespace}, where)
		})
	}
	err = set(libvirt.DomainAffectLive | libvirt.DomainAffectConfig)
	if is(err, libvirt.ErrOperationInvalid) { // it is off
		err = set(libvirt.DomainAffectConfig)
	}
	if err != nil {
		return fmt.Errorf("store %s in the metadata of domain %s: %w", prefix, d.Domain.Name, err)
	}
	return nil
}

// Initialize implements [provider.Initializer]: it starts a domain that Create has defined but not started.
func (s *session) Initialize(ctx context.Context, ref provider.Ref, i provider.Instance) error {
	err := s.with(ctx, func(c call) error {
		d, err := c.domainOf(ctx, i)
		if err != nil || d.begun {
			return err
		}
		_, err = creator{c}.firstStart(ctx, d)
		return err
	})
	if err != nil {
		return fmt.Errorf("start the domain of %s: %w", ref.Name, err)
	}
	return nil
}

// domainOf returns the domain of an instance.
func (c call) domainOf(ctx context.Context, i provider.Instance) (*domain, error) {
	d, err := ask(ctx, c.conn, func(l *libvirt.Libvirt) (libvirt.Domain, error) { return l.DomainLookupByUUID(uuidFrom(i.ID)) })
	if err == nil {
		return c.read(ctx, d)
	}
	if is(err, libvirt.ErrNoDomain) {
		return nil, &provider.Error{Kind: provider.Conflict, Err: err}
	}
	return nil, fmt.Errorf("find domain %s: %w", i.ID, err)
}
