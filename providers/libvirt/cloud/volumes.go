package cloud

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"github.com/millwright-dev/millwright/provider"
)

// The volumes of a machine, by the suffixes of their names.
const (
	volumeDisk     = "disk"
	volumeIgnition = "ignition"
	volumeCidata   = "cidata"
)

// volumeName is the name of a volume. It also records the owner, since a volume has no other place for that.
// The format is
//
//	<name>.mw-<cluster>.<uid>.<owner>.<namespace>.<kind>
//
// where the cluster is a hash, so that the name is not longer than a file name may be:
// 60+1+19+1+36+1+36+1+63+1+8 characters. An unknown part is a hyphen.
type volumeName struct{ name, cluster, uid, owner, namespace, kind string }

const (
	clusterMark = "mw-"
	mostName    = 60
	nameParts   = 5 // besides the name, which may contain dots
	unknown     = "-"
)

func clusterHash(cluster string) string {
	sum := sha256.Sum256([]byte(cluster))
	return hex.EncodeToString(sum[:8])
}

// notInNames matches the characters of API objects' names that file names must not contain.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9-]+`)

func (v volumeName) String() string {
	parts := []string{clusterMark + v.cluster, v.uid, v.owner, v.namespace, v.kind}
	for i, p := range parts {
		parts[i] = cmp.Or(notInNames.ReplaceAllString(p, unknown), unknown)
	}
	human := strings.Trim(v.name, ".")
	return human[:min(len(human), mostName)] + "." + strings.Join(parts, ".")
}

// parseVolumeName returns false for the name of another implementation's volume.
func parseVolumeName(text string) (v volumeName, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) <= nameParts {
		return v, false
	}
	human, rest := parts[:len(parts)-nameParts], parts[len(parts)-nameParts:]
	cluster, ok := strings.CutPrefix(rest[0], clusterMark)
	for i, p := range rest {
		if p == unknown {
			rest[i] = ""
		}
	}
	return volumeName{strings.Join(human, "."), cluster, rest[1], rest[2], rest[3], rest[4]}, ok && rest[1] != ""
}

// volumeNameFor is the name of a machine's volume.
func volumeNameFor(s *session, ref provider.Ref, kind string) volumeName {
	human := ref.Name
	if s.spec != nil && s.spec.Volume != nil {
		human = cmp.Or(s.spec.Volume.VolumeName, human)
	}
	return volumeName{human, clusterHash(s.class.Cluster), ref.UID, s.class.Owner, ref.Namespace, kind}
}

// storage has the calls about pools and volumes.
type storage struct{ call }

// volume is one of our volumes, in any pool.
type volume struct {
	libvirt.StorageVol
	volumeName
}

// ours returns the volumes of the class's cluster in all active pools.
func (s storage) ours(ctx context.Context) (all []volume, err error) {
	pools, err := ask(ctx, s.conn, func(l *libvirt.Libvirt) ([]libvirt.StoragePool, error) {
		pools, _, err := l.ConnectListAllStoragePools(1, libvirt.ConnectListStoragePoolsActive)
		return pools, err
	})
	if err != nil {
		return nil, fmt.Errorf("list pools: %w", err)
	}
	for _, p := range pools {
		found, err := s.oursIn(ctx, p)
		if is(err, libvirt.ErrNoStoragePool, libvirt.ErrOperationInvalid) { // it was deleted or stopped meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (s storage) oursIn(ctx context.Context, p libvirt.StoragePool) (all []volume, err error) {
	found, err := ask(ctx, s.conn, func(l *libvirt.Libvirt) ([]libvirt.StorageVol, error) {
		found, _, err := l.StoragePoolListAllVolumes(p, 1, 0)
		return found, err
	})
	if err != nil {
		return nil, fmt.Errorf("list volumes of pool %s: %w", p.Name, err)
	}
	cluster := clusterHash(s.class.Cluster)
	for _, v := range found {
		if n, ok := parseVolumeName(v.Name); ok && n.cluster == cluster {
			all = append(all, volume{v, n})
		}
	}
	return all, nil
}

// pool returns the spec's pool.
func (s storage) pool(ctx context.Context) (libvirt.StoragePool, error) {
	name := s.spec.Pool()
	p, err := ask(ctx, s.conn, func(l *libvirt.Libvirt) (libvirt.StoragePool, error) { return l.StoragePoolLookupByName(name) })
	if err != nil {
		return p, missing(fmt.Errorf("find pool %s: %w", name, err), "volume.poolName", libvirt.ErrNoStoragePool)
	}
	return p, nil
}

// poolPath is the folder of a pool's volumes; empty for a pool without a folder.
func (s storage) poolPath(ctx context.Context, name string) (string, error) {
	text, err := ask(ctx, s.conn, func(l *libvirt.Libvirt) (string, error) {
		p, err := l.StoragePoolLookupByName(name)
		if err != nil {
			return "", err
		}
		return l.StoragePoolGetXMLDesc(p, 0)
	})
	if is(err, libvirt.ErrNoStoragePool) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read pool %s: %w", name, err)
	}
	var p libvirtxml.StoragePool
	if err := p.Unmarshal(text); err != nil || p.Target == nil {
		return "", err
	}
	return p.Target.Path, nil
}

// base is the volume that guests' disks are layers over.
type base struct {
	path, format string
	capacity     uint64 // bytes
}

// base finds the base volume by its name in the pool, by its key, or by its path.
func (s storage) base(ctx context.Context, pool libvirt.StoragePool) (*base, error) {
	id := s.spec.Volume.BaseVolumeID
	text, err := ask(ctx, s.conn, func(l *libvirt.Libvirt) (string, error) {
		v, err := l.StorageVolLookupByName(pool, id)
		if is(err, libvirt.ErrNoStorageVol) {
			v, err = l.StorageVolLookupByKey(id)
		}
		if is(err, libvirt.ErrNoStorageVol) {
			v, err = l.StorageVolLookupByPath(id)
		}
		if err != nil {
			return "", err
		}
		return l.StorageVolGetXMLDesc(v, 0)
	})
	if err != nil {
		return nil, missing(fmt.Errorf("find the base volume %s: %w", id, err), "volume.baseVolumeID", libvirt.ErrNoStorageVol)
	}
	var v libvirtxml.StorageVolume
	if err := v.Unmarshal(text); err != nil {
		return nil, fmt.Errorf("read the base volume %s: %w", id, err)
	}
	b := &base{format: "raw"}
	if v.Capacity != nil {
		b.capacity = v.Capacity.Value // libvirt writes bytes
	}
	if v.Target != nil {
		b.path = v.Target.Path
		if v.Target.Format != nil {
			b.format = v.Target.Format.Type
		}
	}
	return b, nil
}

// createVolume creates a volume, or returns the existing one of that name, from an interrupted creation.
func (s storage) createVolume(ctx context.Context, pool libvirt.StoragePool, v *libvirtxml.StorageVolume) (libvirt.StorageVol, error) {
	raw, err := xml.Marshal(v)
	if err != nil {
		return libvirt.StorageVol{}, fmt.Errorf("encode volume %s: %w", v.Name, err)
	}
	made, err := ask(ctx, s.conn, func(l *libvirt.Libvirt) (libvirt.StorageVol, error) {
		made, err := l.StorageVolCreateXML(pool, string(raw), 0)
		if is(err, libvirt.ErrStorageVolExist, libvirt.ErrOperationFailed) { // drivers use different errors for an existing volume
			if there, missing := l.StorageVolLookupByName(pool, v.Name); missing == nil {
				return there, nil
			}
		}
		return made, err
	})
	if err != nil {
		return made, fmt.Errorf("create volume %s: %w", v.Name, err)
	}
	return made, nil
}

// createDisk creates the layer that the guest writes to.
func (s storage) createDisk(ctx context.Context, pool libvirt.StoragePool, b *base, n volumeName) (libvirt.StorageVol, error) {
	capacity := b.capacity
	if size := s.spec.Volume.VolumeSize; size != nil {
		capacity = max(capacity, uint64(size.Value())) //nolint:gosec // check requires a size above 0
	}
	return s.createVolume(ctx, pool, &libvirtxml.StorageVolume{
		Name: n.String(), Capacity: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: capacity},
		Target:       &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "qcow2"}},
		BackingStore: &libvirtxml.StorageVolumeBackingStore{Path: b.path, Format: &libvirtxml.StorageVolumeTargetFormat{Type: b.format}},
	})
}

// createData creates a volume with data that no other user of the host may read. Existing data is
// overwritten: an interrupted upload may have been incomplete.
func (s storage) createData(ctx context.Context, pool libvirt.StoragePool, data []byte, n volumeName) (libvirt.StorageVol, error) {
	size := uint64(len(data))
	v, err := s.createVolume(ctx, pool, &libvirtxml.StorageVolume{
		Name: n.String(), Capacity: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: size},
		Target: &libvirtxml.StorageVolumeTarget{
			Format: &libvirtxml.StorageVolumeTargetFormat{Type: "raw"}, Permissions: &libvirtxml.StorageVolumeTargetPermissions{Mode: "0600"},
		},
	})
	if err != nil {
		return v, err
	}
	err = do(ctx, s.conn, func(l *libvirt.Libvirt) error { return l.StorageVolUpload(v, bytes.NewReader(data), 0, size, 0) })
	if err != nil {
		return v, fmt.Errorf("fill volume %s: %w", v.Name, err)
	}
	return v, nil
}

// deleteVolumes deletes the volumes of a list that exist.
func (s storage) deleteVolumes(ctx context.Context, all []libvirt.StorageVol) error {
	for _, v := range slices.Compact(all) {
		err := do(ctx, s.conn, func(l *libvirt.Libvirt) error { return l.StorageVolDelete(v, 0) })
		if err != nil && !is(err, libvirt.ErrNoStorageVol, libvirt.ErrNoStoragePool) {
			return fmt.Errorf("delete volume %s of pool %s: %w", v.Name, v.Pool, err)
		}
	}
	return nil
}
