package daemon

import (
	"bytes"
	"reflect"

	"github.com/digitalocean/go-libvirt"
)

// The used procedures, by their numbers in libvirt's remote_protocol.x.
const (
	procConnectOpen          = 1
	procConnectClose         = 2
	ProcCapabilities         = 7
	procDomainGetXMLDesc     = 14
	procDomainLookupByName   = 23
	procDomainLookupByUUID   = 24
	procDomainSetAutostart   = 29
	procNetworkGetXMLDesc    = 43
	procNetworkLookupByName  = 46
	procNetworkLookupByUUID  = 47
	procConnectGetHostname   = 59
	procSupportsFeature      = 60
	procAuthList             = 66
	procPoolLookupByName     = 84
	procPoolGetXMLDesc       = 88
	procVolCreateXML         = 93
	ProcStorageVolDelete     = 94
	procVolLookupByName      = 95
	procVolLookupByKey       = 96
	procVolLookupByPath      = 97
	procVolGetXMLDesc        = 99
	procVolGetPath           = 100
	ProcDomainCreate         = 196
	ProcStorageVolUpload     = 208
	ProcDomainGetState       = 212
	procDomainUndefine       = 231
	ProcDomainDestroy        = 234
	ProcDomainSetMetadata    = 264
	ProcListDomains          = 273
	ProcListPools            = 281
	procPoolListVolumes      = 282
	procListNetworks         = 283
	procNetworkUpdate        = 291
	procNetworkLeases        = 341
	ProcDomainDefine         = 350
	procDomainInterfaceAddrs = 353
)

// ProcDomainGetXMLDesc reads one domain.
const ProcDomainGetXMLDesc = procDomainGetXMLDesc

// method answers a procedure.
type method func(h *Host, payload []byte) (any, *libvirt.Error)

// The parts of a host that answer.
func ofGuests(h *Host) *guests     { return &h.guests }
func ofStorage(h *Host) *storage   { return &h.storage }
func ofNetworks(h *Host) *networks { return &h.networks }

// with decodes the arguments for a method of a part.
func with[P, A, R any](of func(*Host) *P, call func(*P, A) (R, *libvirt.Error)) method {
	return func(h *Host, payload []byte) (any, *libvirt.Error) {
		var args A
		if err := decode(bytes.NewReader(payload), reflect.ValueOf(&args).Elem()); err != nil {
			return nil, failed(libvirt.ErrRPC, "%v", err)
		}
		r, err := call(of(h), args)
		return r, err
	}
}

// none is the result of a procedure without one.
type none struct{}

func fixed(answer any) method {
	return func(*Host, []byte) (any, *libvirt.Error) { return answer, nil }
}

var methods = map[uint32]method{
	procConnectOpen: fixed(none{}), procConnectClose: fixed(none{}), procAuthList: fixed([]int32{0}), procSupportsFeature: fixed(int32(1)),
	ProcCapabilities:         func(h *Host, _ []byte) (any, *libvirt.Error) { return h.capabilities(), nil },
	procConnectGetHostname:   fixed("host"),
	ProcListDomains:          with(ofGuests, (*guests).listDomains),
	procDomainGetXMLDesc:     with(ofGuests, (*guests).domainXML),
	procDomainLookupByName:   with(ofGuests, (*guests).domainByName),
	procDomainLookupByUUID:   with(ofGuests, (*guests).domainByUUID),
	procDomainSetAutostart:   with(ofGuests, (*guests).setAutostart),
	ProcDomainCreate:         with(ofGuests, (*guests).start),
	ProcDomainGetState:       with(ofGuests, (*guests).domainState),
	procDomainUndefine:       with(ofGuests, (*guests).undefine),
	ProcDomainDestroy:        with(ofGuests, (*guests).destroy),
	ProcDomainSetMetadata:    with(ofGuests, (*guests).setMetadata),
	ProcDomainDefine:         with(ofGuests, (*guests).define),
	procDomainInterfaceAddrs: with(ofGuests, (*guests).interfaceAddresses),

	ProcListPools:        with(ofStorage, (*storage).listPools),
	procPoolLookupByName: with(ofStorage, (*storage).poolByName),
	procPoolGetXMLDesc:   with(ofStorage, (*storage).poolXML),
	procPoolListVolumes:  with(ofStorage, (*storage).listVolumes),
	procVolCreateXML:     with(ofStorage, (*storage).createVolume),
	ProcStorageVolDelete: with(ofStorage, (*storage).deleteVolume),
	procVolLookupByName:  with(ofStorage, (*storage).volumeByName),
	procVolLookupByKey: with(ofStorage, func(h *storage, a libvirt.StorageVolLookupByKeyArgs) (libvirt.StorageVolLookupByKeyRet, *libvirt.Error) {
		v, err := h.volumeAt(a.Key)
		return libvirt.StorageVolLookupByKeyRet{Vol: v}, err
	}),
	procVolLookupByPath: with(ofStorage, func(h *storage, a libvirt.StorageVolLookupByPathArgs) (libvirt.StorageVolLookupByPathRet, *libvirt.Error) {
		v, err := h.volumeAt(a.Path)
		return libvirt.StorageVolLookupByPathRet{Vol: v}, err
	}),
	procVolGetXMLDesc:    with(ofStorage, (*storage).volumeXML),
	procVolGetPath:       with(ofStorage, (*storage).volumePath),
	ProcStorageVolUpload: with(ofStorage, (*storage).upload),

	procListNetworks:        with(ofNetworks, (*networks).listNetworks),
	procNetworkLookupByName: with(ofNetworks, (*networks).networkByName),
	procNetworkLookupByUUID: with(ofNetworks, (*networks).networkByUUID),
	procNetworkGetXMLDesc:   with(ofNetworks, (*networks).networkXML),
	procNetworkLeases:       with(ofNetworks, (*networks).leases),
	procNetworkUpdate:       with(ofNetworks, (*networks).updateNetwork),
}

// answer is the result of a call.
func (h *Host) answer(procedure uint32, payload []byte) (any, *libvirt.Error) {
	m, ok := methods[procedure]
	if !ok {
		return nil, failed(libvirt.ErrNoSupport, "this function is not supported by the connection driver: %d", procedure)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return m(h, payload)
}
