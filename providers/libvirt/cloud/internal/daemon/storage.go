package daemon

import (
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/digitalocean/go-libvirt"
)

// storage has the pools of a host.
type storage struct{ pools map[string]*pool }

type pool struct {
	libvirt.StoragePool
	volumes map[string]*volume
}

type volume struct {
	text string
	data []byte
}

// path is the path of a volume in a pool.
func (p *pool) path(name string) string { return "/pools/" + p.Name + "/" + name }

func (p *pool) volume(name string) libvirt.StorageVol {
	return libvirt.StorageVol{Pool: p.Name, Name: name, Key: p.path(name)}
}

// AddPool creates a pool with a base volume, unless a pool of the name exists.
func (h *Host) AddPool(name, base string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.storage.pools[name] == nil {
		h.storage.pools[name] = &pool{StoragePool: libvirt.StoragePool{Name: name}, volumes: map[string]*volume{
			base: {text: "<volume><name>" + base + "</name><capacity unit='bytes'>1073741824</capacity><target><format type='qcow2'/></target></volume>"},
		}}
	}
}

// AddVolume creates a volume without an API call.
func (h *Host) AddVolume(pool, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.storage.pools[pool].volumes[name] = &volume{text: "<volume><name>" + name + "</name><capacity>1</capacity></volume>"}
}

// Volumes returns the names of the volumes in a pool.
func (h *Host) Volumes(pool string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.storage.pools[pool].volumes))
}

// Volume returns the description and the content of a volume.
func (h *Host) Volume(pool, name string) (text string, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.storage.pools[pool].volumes[name]
	return v.text, v.data
}

func (h *storage) listPools(libvirt.ConnectListAllStoragePoolsArgs) (r libvirt.ConnectListAllStoragePoolsRet, _ *libvirt.Error) {
	for _, name := range slices.Sorted(maps.Keys(h.pools)) {
		r.Pools = append(r.Pools, h.pools[name].StoragePool)
	}
	r.Ret = uint32(len(r.Pools)) //nolint:gosec // They are few.
	return r, nil
}

func (h *storage) pool(name string) (*pool, *libvirt.Error) {
	if p := h.pools[name]; p != nil {
		return p, nil
	}
	return nil, failed(libvirt.ErrNoStoragePool, "Storage pool not found: no storage pool with matching name '%s'", name)
}

func (h *storage) poolByName(a libvirt.StoragePoolLookupByNameArgs) (r libvirt.StoragePoolLookupByNameRet, _ *libvirt.Error) {
	p, err := h.pool(a.Name)
	if err == nil {
		r.Pool = p.StoragePool
	}
	return r, err
}

func (h *storage) poolXML(a libvirt.StoragePoolGetXMLDescArgs) (r libvirt.StoragePoolGetXMLDescRet, _ *libvirt.Error) {
	p, err := h.pool(a.Pool.Name)
	if err == nil {
		r.XML = fmt.Sprintf("<pool type='dir'><name>%s</name><target><path>/pools/%s</path></target></pool>", p.Name, p.Name)
	}
	return r, err
}

func (h *storage) listVolumes(a libvirt.StoragePoolListAllVolumesArgs) (r libvirt.StoragePoolListAllVolumesRet, _ *libvirt.Error) {
	p, err := h.pool(a.Pool.Name)
	if err != nil {
		return r, err
	}
	for _, name := range slices.Sorted(maps.Keys(p.volumes)) {
		r.Vols = append(r.Vols, p.volume(name))
	}
	r.Ret = uint32(len(r.Vols)) //nolint:gosec // They are few.
	return r, nil
}

func (h *storage) volumeByName(a libvirt.StorageVolLookupByNameArgs) (r libvirt.StorageVolLookupByNameRet, _ *libvirt.Error) {
	p, err := h.pool(a.Pool.Name)
	if err != nil {
		return r, err
	}
	if p.volumes[a.Name] == nil {
		return r, failed(libvirt.ErrNoStorageVol, "Storage volume not found: no storage vol with matching name '%s'", a.Name)
	}
	r.Vol = p.volume(a.Name)
	return r, nil
}

// volumeAt finds a volume by its path, which is also its key.
func (h *storage) volumeAt(path string) (libvirt.StorageVol, *libvirt.Error) {
	for _, p := range h.pools {
		for name := range p.volumes {
			if p.path(name) == path {
				return p.volume(name), nil
			}
		}
	}
	return libvirt.StorageVol{}, failed(libvirt.ErrNoStorageVol, "Storage volume not found: no storage vol with matching path '%s'", path)
}

func (h *storage) createVolume(a libvirt.StorageVolCreateXMLArgs) (r libvirt.StorageVolCreateXMLRet, _ *libvirt.Error) {
	p, missing := h.pool(a.Pool.Name)
	if missing != nil {
		return r, missing
	}
	var s struct {
		Name     string `xml:"name"`
		Capacity uint64 `xml:"capacity"`
	}
	if err := xml.Unmarshal([]byte(a.XML), &s); err != nil || s.Name == "" || strings.Contains(s.Name, "/") || len(s.Name) > 255 {
		return r, failed(libvirt.ErrXMLError, "XML error: %v", err)
	}
	if p.volumes[s.Name] != nil {
		return r, failed(libvirt.ErrStorageVolExist, "storage volume '%s' exists already", s.Name)
	}
	p.volumes[s.Name] = &volume{text: a.XML}
	r.Vol = p.volume(s.Name)
	return r, nil
}

// find returns the volume that a call names.
func (h *storage) find(v libvirt.StorageVol) (*volume, *libvirt.Error) {
	p, err := h.pool(v.Pool)
	if err != nil {
		return nil, err
	}
	if found := p.volumes[v.Name]; found != nil {
		return found, nil
	}
	return nil, failed(libvirt.ErrNoStorageVol, "Storage volume not found: no storage vol with matching name '%s'", v.Name)
}

func (h *storage) deleteVolume(a libvirt.StorageVolDeleteArgs) (none, *libvirt.Error) {
	_, err := h.find(a.Vol)
	if err == nil {
		delete(h.pools[a.Vol.Pool].volumes, a.Vol.Name)
	}
	return none{}, err
}

func (h *storage) volumeXML(a libvirt.StorageVolGetXMLDescArgs) (r libvirt.StorageVolGetXMLDescRet, _ *libvirt.Error) {
	v, err := h.find(a.Vol)
	if err == nil {
		r.XML = strings.Replace(v.text, "<target>", "<target><path>"+h.pools[a.Vol.Pool].path(a.Vol.Name)+"</path>", 1)
	}
	return r, err
}

func (h *storage) volumePath(a libvirt.StorageVolGetPathArgs) (r libvirt.StorageVolGetPathRet, _ *libvirt.Error) {
	_, err := h.find(a.Vol)
	if err == nil {
		r.Name = h.pools[a.Vol.Pool].path(a.Vol.Name)
	}
	return r, err
}

// uploading is the start of an upload, which replaces the content.
type uploading struct{ path string }

func (h *storage) upload(a libvirt.StorageVolUploadArgs) (uploading, *libvirt.Error) {
	v, err := h.find(a.Vol)
	if err != nil {
		return uploading{}, err
	}
	v.data = nil
	return uploading{h.pools[a.Vol.Pool].path(a.Vol.Name)}, nil
}

func (h *Host) write(path string, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at, err := h.storage.volumeAt(path); err == nil {
		v := h.storage.pools[at.Pool].volumes[at.Name]
		v.data = append(v.data, data...)
	}
}
