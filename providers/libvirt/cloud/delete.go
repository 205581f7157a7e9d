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

// Delete implements [provider.Session]. It deletes a domain after its volumes, so that an interrupted
// deletion finds them again through the domain.
func (s *session) Delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (done bool, err error) {
	err = s.with(ctx, func(c call) error {
		done, err = deleter{c}.delete(ctx, ref, instances)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("delete the domain of %s: %w", ref.Name, err)
	}
	return done, nil
}

// deleter deletes domains and their dependants.
type deleter struct{ call }

func (dl deleter) delete(ctx context.Context, ref provider.Ref, instances []provider.Instance) (bool, error) {
	var going, staying []*domain
	err := dl.domains(ctx, func(d *domain) (bool, error) {
		dl.recognize(d, ref)
		given := slices.ContainsFunc(instances, func(i provider.Instance) bool { return i.ID == d.id() })
		if given || ref.UID != "" && d.UID == ref.UID && d.Cluster == dl.class.Cluster {
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
		if err := dl.deleteDomain(ctx, d, staying); err != nil {
			return false, err
		}
	}
	if ref.UID == "" {
		return true, nil
	}
	return true, dl.deleteLeftovers(ctx, ref, staying)
}

// deleteLeftovers deletes the dependants of an interrupted creation, which ended before the domain was
// defined.
func (dl deleter) deleteLeftovers(ctx context.Context, ref provider.Ref, staying []*domain) error {
	all, err := storage(dl).ours(ctx)
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
	networks, err := ask(ctx, dl.conn, func(l *libvirt.Libvirt) ([]libvirt.Network, error) {
		all, _, err := l.ConnectListAllNetworks(1, 0)
		return all, err
	})
	if err != nil {
		return fmt.Errorf("list networks: %w", err)
	}
	for _, n := range networks {
		if err := networking(dl).release(ctx, card{mac: macOf(uuidFor(dl.session, ref)), network: n.Name}); err != nil {
			return err
		}
	}
	return storage(dl).deleteUnused(ctx, left, staying)
}

// deleteDomain deletes a domain and its own dependants.
func (dl deleter) deleteDomain(ctx context.Context, d *domain, staying []*domain) error {
	err := do(ctx, dl.conn, func(l *libvirt.Libvirt) error { return l.DomainDestroyFlags(d.Domain, 0) })
	if err != nil && !is(err, libvirt.ErrOperationInvalid, libvirt.ErrNoDomain) {
		return fmt.Errorf("power off domain %s: %w", d.Domain.Name, err)
	}
	if d.UID != "" {
		for _, c := range d.cards {
			if c.mac != macOf(d.UUID) {
				continue
			}
			if err := networking(dl).release(ctx, c); err != nil {
				return err
			}
		}
	}
	volumes, err := dl.volumesOf(ctx, d)
	if err != nil {
		return err
	}
	if err := storage(dl).deleteUnused(ctx, volumes, staying); err != nil {
		return err
	}
	return dl.undefine(ctx, d)
}

// undefine deletes a domain with the data that libvirt keeps about it. Old drivers support fewer of the
// flags, or none.
func (dl deleter) undefine(ctx context.Context, d *domain) error {
	const all = libvirt.DomainUndefineManagedSave | libvirt.DomainUndefineSnapshotsMetadata | libvirt.DomainUndefineNvram | libvirt.DomainUndefineCheckpointsMetadata
	var err error
	for _, flags := range []libvirt.DomainUndefineFlagsValues{all, libvirt.DomainUndefineManagedSave | libvirt.DomainUndefineSnapshotsMetadata, 0} {
		err = do(ctx, dl.conn, func(l *libvirt.Libvirt) error { return l.DomainUndefineFlags(d.Domain, flags) })
		if err == nil || is(err, libvirt.ErrNoDomain) {
			return nil
		}
		if !is(err, libvirt.ErrInvalidArg) && !unsupported(err) {
			break
		}
	}
	return fmt.Errorf("undefine domain %s: %w", d.Domain.Name, err)
}

// volumesOf returns the volumes of a domain that were created for it: ours, by their names, or those of the
// original, whose names begin with the domain's name. Other volumes are not deleted.
func (dl deleter) volumesOf(ctx context.Context, d *domain) (out []libvirt.StorageVol, err error) {
	if d.UID != "" {
		all, err := storage(dl).ours(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range all {
			at, err := storage(dl).pathOf(ctx, v.StorageVol)
			if err != nil {
				return nil, err
			}
			if v.uid == d.UID && d.has(v.StorageVol, at) {
				out = append(out, v.StorageVol)
			}
		}
		return out, nil
	}
	return storage(dl).originals(ctx, d)
}

// pathOf is empty if the volume does not exist any more.
func (s storage) pathOf(ctx context.Context, v libvirt.StorageVol) (string, error) {
	at, err := ask(ctx, s.conn, func(l *libvirt.Libvirt) (string, error) { return l.StorageVolGetPath(v) })
	if err != nil && !is(err, libvirt.ErrNoStorageVol, libvirt.ErrNoStoragePool) {
		return "", fmt.Errorf("read the path of volume %s: %w", v.Name, err)
	}
	return at, nil
}

// originals returns the volumes that the original has created for a domain, next to its boot disk.
func (s storage) originals(ctx context.Context, d *domain) (out []libvirt.StorageVol, err error) {
	if len(d.disks) == 0 {
		return nil, nil
	}
	root, name := d.disks[0], d.Domain.Name
	if root.volume != name && path.Base(root.file) != name {
		return nil, nil
	}
	for _, n := range []string{name, name + originalIgnition, name + originalCloudInit} {
		v, err := ask(ctx, s.conn, func(l *libvirt.Libvirt) (libvirt.StorageVol, error) {
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
			return nil, fmt.Errorf("find volume %s: %w", n, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// deleteUnused deletes the volumes that no remaining domain uses.
func (s storage) deleteUnused(ctx context.Context, all []libvirt.StorageVol, staying []*domain) error {
	var unused []libvirt.StorageVol
	for _, v := range all {
		at, err := s.pathOf(ctx, v)
		if err != nil {
			return err
		}
		if at != "" && !slices.ContainsFunc(staying, func(d *domain) bool { return d.has(v, at) }) {
			unused = append(unused, v)
		}
	}
	return s.deleteVolumes(ctx, unused)
}

// Leftovers implements [provider.LeftoverLister]: volumes of machines without a domain.
func (s *session) Leftovers(ctx context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		var left []provider.Leftover
		err := s.with(ctx, func(c call) (err error) {
			left, err = deleter{c}.leftovers(ctx)
			return err
		})
		if err != nil {
			yield(provider.Leftover{}, fmt.Errorf("list leftovers of domains: %w", err))
			return
		}
		for _, l := range left {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (dl deleter) leftovers(ctx context.Context) (left []provider.Leftover, err error) {
	// Volumes first: those created meanwhile have no domain yet.
	all, err := storage(dl).ours(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	living := map[string]bool{}
	err = dl.domains(ctx, func(d *domain) (bool, error) {
		living[d.UID] = true
		for _, v := range all { // of a domain that has lost its metadata
			living[v.uid] = living[v.uid] || d.UUID == uuidFor(dl.session, provider.Ref{UID: v.uid})
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
