package cloud

import (
	"context"
	"fmt"
	"iter"
	"path"
	"slices"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
)

// Delete implements [provider.Session]. A domain goes after its volumes, so that what is cut short is found again by it.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (done bool, err error) {
	err = s.with(ctx, func(e errand) error {
		done, err = remover{e}.remove(ctx, ref, instances)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("remove the domain of %s: %w", ref.Name, err)
	}
	return done, nil
}

// remover is an errand that ends domains, and what was made for them.
type remover struct{ errand }

func (e remover) remove(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	var going, staying []*domain
	err := e.domains(ctx, func(d *domain) (bool, error) {
		e.recognize(d, ref)
		given := slices.ContainsFunc(instances, func(i provider.Instance) bool { return i.ID == d.id() })
		if given || ref.UID != "" && d.UID == ref.UID && d.Cluster == e.class.Cluster {
			going = append(going, d)
		} else {
			staying = append(staying, d)
		}
		return true, nil
	})
	if err != nil {
		return false, err
	}
	for _, d := range going {
		if err := e.end(ctx, d, staying); err != nil {
			return false, err
		}
	}
	if ref.UID == "" {
		return true, nil
	}
	return true, e.sweep(ctx, ref, staying)
}

// sweep removes what a create has left that was cut short before there was a domain.
func (e remover) sweep(ctx context.Context, ref provider.Ref, staying []*domain) error {
	all, err := storage(e).ours(ctx)
	if err != nil {
		return err
	}
	var left []libvirt.StorageVol
	for _, v := range all {
		if v.uid == ref.UID {
			left = append(left, v.StorageVol)
		}
	}
	if len(left) == 0 {
		return nil
	}
	networks, err := ask(ctx, e.c, func(l *libvirt.Libvirt) ([]libvirt.Network, error) {
		all, _, err := l.ConnectListAllNetworks(1, 0)
		return all, err
	})
	if err != nil {
		return fmt.Errorf("list networks: %w", err)
	}
	for _, n := range networks {
		if err := wiring(e).release(ctx, card{mac: macOf(uuidFor(e.session, ref)), network: n.Name}); err != nil {
			return err
		}
	}
	return storage(e).removeUnused(ctx, left, staying)
}

// end removes a domain and what belongs to it alone.
func (e remover) end(ctx context.Context, d *domain, staying []*domain) error {
	err := do(ctx, e.c, func(l *libvirt.Libvirt) error { return l.DomainDestroyFlags(d.Domain, 0) })
	if err != nil && !is(err, libvirt.ErrOperationInvalid, libvirt.ErrNoDomain) {
		return fmt.Errorf("switch domain %s off: %w", d.Domain.Name, err)
	}
	if d.UID != "" {
		for _, c := range d.cards {
			if c.mac != macOf(d.UUID) {
				continue
			}
			if err := wiring(e).release(ctx, c); err != nil {
				return err
			}
		}
	}
	volumes, err := e.volumesOf(ctx, d)
	if err != nil {
		return err
	}
	if err := storage(e).removeUnused(ctx, volumes, staying); err != nil {
		return err
	}
	return e.undefine(ctx, d)
}

// undefine lets a domain go with what libvirt itself keeps of it. Old drivers know fewer of the flags, and some know none.
func (e remover) undefine(ctx context.Context, d *domain) error {
	const all = libvirt.DomainUndefineManagedSave | libvirt.DomainUndefineSnapshotsMetadata | libvirt.DomainUndefineNvram | libvirt.DomainUndefineCheckpointsMetadata
	var err error
	for _, flags := range []libvirt.DomainUndefineFlagsValues{all, libvirt.DomainUndefineManagedSave | libvirt.DomainUndefineSnapshotsMetadata, 0} {
		err = do(ctx, e.c, func(l *libvirt.Libvirt) error { return l.DomainUndefineFlags(d.Domain, flags) })
		if err == nil || is(err, libvirt.ErrNoDomain) {
			return nil
		}
		if !is(err, libvirt.ErrInvalidArg) && !unsupported(err) {
			break
		}
	}
	return fmt.Errorf("undefine domain %s: %w", d.Domain.Name, err)
}

// volumesOf are the volumes that a domain has and that were made for it: by us, whose names say so, or by the original, whose names begin
// with its own. What else it has is somebody else's.
func (e remover) volumesOf(ctx context.Context, d *domain) (out []libvirt.StorageVol, err error) {
	if d.UID != "" {
		all, err := storage(e).ours(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range all {
			at, err := storage(e).pathOf(ctx, v.StorageVol)
			if err != nil {
				return nil, err
			}
			if v.uid == d.UID && d.has(v.StorageVol, at) {
				out = append(out, v.StorageVol)
			}
		}
		return out, nil
	}
	return storage(e).originals(ctx, d)
}

// pathOf is empty for a volume that has gone.
func (e storage) pathOf(ctx context.Context, v libvirt.StorageVol) (string, error) {
	at, err := ask(ctx, e.c, func(l *libvirt.Libvirt) (string, error) { return l.StorageVolGetPath(v) })
	if err != nil && !is(err, libvirt.ErrNoStorageVol, libvirt.ErrNoStoragePool) {
		return "", fmt.Errorf("ask for the path of volume %s: %w", v.Name, err)
	}
	return at, nil
}

// originals are the volumes of a domain that the original has made, beside the one that it boots from.
func (e storage) originals(ctx context.Context, d *domain) (out []libvirt.StorageVol, err error) {
	if len(d.disks) == 0 {
		return nil, nil
	}
	root, name := d.disks[0], d.Domain.Name
	if root.volume != name && path.Base(root.file) != name {
		return nil, nil
	}
	for _, n := range []string{name, name + originalIgnition, name + originalCloudInit} {
		v, err := ask(ctx, e.c, func(l *libvirt.Libvirt) (libvirt.StorageVol, error) {
			if root.file != "" {
				return l.StorageVolLookupByPath(path.Join(path.Dir(root.file), n))
			}
			p, err := l.StoragePoolLookupByName(root.pool)
			if err != nil {
				return libvirt.StorageVol{}, err
			}
			return l.StorageVolLookupByName(p, n)
		})
		if is(err, libvirt.ErrNoStorageVol, libvirt.ErrNoStoragePool) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look for volume %s: %w", n, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// removeUnused removes those volumes that no domain has which stays.
func (e storage) removeUnused(ctx context.Context, all []libvirt.StorageVol, staying []*domain) error {
	var unused []libvirt.StorageVol
	for _, v := range all {
		at, err := e.pathOf(ctx, v)
		if err != nil {
			return err
		}
		if at != "" && !slices.ContainsFunc(staying, func(d *domain) bool { return d.has(v, at) }) {
			unused = append(unused, v)
		}
	}
	return e.removeVolumes(ctx, unused)
}

// Leftovers implements [provider.LeftoverLister]: volumes of machines that have no domain.
func (s *session) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		var left []provider.Leftover
		err := s.with(ctx, func(e errand) (err error) {
			left, err = remover{e}.leftovers(ctx)
			return err
		})
		if err != nil {
			yield(provider.Leftover{}, fmt.Errorf("list what domains have left: %w", err))
			return
		}
		for _, l := range left {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (e remover) leftovers(ctx context.Context) (left []provider.Leftover, err error) {
	// Volumes first: what is made meanwhile has no domain yet.
	all, err := storage(e).ours(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	living := map[string]bool{}
	err = e.domains(ctx, func(d *domain) (bool, error) {
		living[d.UID] = true
		for _, v := range all { // of a domain whose marks are lost
			living[v.uid] = living[v.uid] || d.UUID == uuidFor(e.session, provider.Ref{UID: v.uid})
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		if !living[v.uid] {
			left = append(left, provider.Leftover{Kind: "volume", ID: v.Pool + "/" + v.Name, UID: v.uid, Name: v.name, Owner: v.owner, Namespace: v.namespace})
		}
	}
	return left, nil
}
