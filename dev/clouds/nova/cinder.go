package nova

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// volume is a volume of Cinder.
type volume struct {
	id, name, description, kind, zone, image, project string
	size                                              int
	metadata                                          map[string]string
	created                                           time.Time
	// server is the server of the volume, or "claimed" until it is attached.
	server string
	failed bool
	stuck  bool // it stays reserved
	wedged bool // its deletion fails
	undead bool // its deletion has failed
	seq    int
}

// state is Cinder's status of a volume.
func (v *volume) state(c *Cloud, now time.Time) string {
	switch {
	case v.undead:
		return "error_deleting"
	case v.failed:
		return "error"
	case v.stuck:
		return "reserved"
	case now.Sub(v.created) < c.Volume:
		if v.image != "" {
			return "downloading"
		}
		return "creating"
	case v.server == "claimed":
		return "reserved"
	case v.server != "":
		return "in-use"
	}
	return "available"
}

// volumeRow has the fields of Block Storage API v3, "Show a volume's details".
func (k cinder) volumeRow(v *volume) map[string]any {
	attachments := []any{}
	if v.server != "" && v.server != "claimed" {
		attachments = append(attachments, map[string]any{
			"id": v.id, "attachment_id": uuid("attachment " + v.id), "volume_id": v.id, "server_id": v.server, "device": "/dev/vda",
			"host_name": "compute1", "attached_at": micro(v.created),
		})
	}
	return map[string]any{
		"id": v.id, "name": v.name, "description": orNull(v.description), "size": v.size, "status": v.state(k.Cloud, k.now), "availability_zone": v.zone,
		"volume_type": v.kind, "snapshot_id": nil, "source_volid": nil, "metadata": orEmpty(v.metadata), "created_at": micro(v.created),
		"updated_at": micro(v.created), "attachments": attachments, "bootable": fmt.Sprint(v.image != ""), "encrypted": false,
		"replication_status": nil, "consistencygroup_id": nil, "multiattach": false, "migration_status": nil, "user_id": k.token.user.ID,
		"os-vol-tenant-attr:tenant_id": v.project, "links": []any{map[string]any{"rel": "self", "href": k.base() + "/volume/v3/" + v.project + "/volumes/" + v.id}},
	}
}

// cinder serves volumes.
type cinder struct{ *call }

func serveVolume(all *call) {
	k := cinder{all}
	switch {
	case k.parts[0] == "types":
		out := []any{}
		for _, name := range k.stock.VolumeTypes {
			out = append(out, map[string]any{"id": uuid("type " + name), "name": name, "is_public": true, "description": nil, "extra_specs": map[string]any{}})
		}
		k.reply(http.StatusOK, map[string]any{"volume_types": out})
	case k.parts[0] == "os-availability-zone":
		out := []any{}
		for _, z := range k.zoneNames() {
			out = append(out, map[string]any{"zoneName": z, "zoneState": map[string]any{"available": !k.closed["volumes/"+z]}})
		}
		k.reply(http.StatusOK, map[string]any{"availabilityZoneInfo": out})
	case k.parts[0] != "volumes":
		k.fail(http.StatusNotFound, "itemNotFound", "The resource could not be found.")
	case k.method("POST"):
		k.createVolume()
	case len(k.parts) == 1 || k.parts[1] == "detail":
		k.listVolumes()
	default:
		k.oneVolume(k.volumes[k.parts[1]])
	}
}

func (k cinder) oneVolume(v *volume) {
	switch {
	case v == nil || v.project != k.token.project.ID:
		k.fail(http.StatusNotFound, "itemNotFound", "Volume "+k.parts[1]+" could not be found.")
	case !k.method("DELETE"):
		k.reply(http.StatusOK, map[string]any{"volume": k.volumeRow(v)})
	case !slices.Contains([]string{"available", "error"}, v.state(k.Cloud, k.now)):
		k.fail(http.StatusBadRequest, "badRequest", "Invalid volume: Volume status must be available or error or error_restoring or error_extending or error_managing and must not be migrating, attached, belong to a group, have snapshots, awaiting a transfer, or be disassociated from snapshots after volume transfer.")
	default:
		if v.undead = v.wedged; !v.wedged {
			delete(k.volumes, v.id)
		}
		k.w.WriteHeader(http.StatusAccepted)
	}
}

// zoneNames are Cinder's zones.
func (k cinder) zoneNames() []string {
	if len(k.stock.VolumeZones) > 0 {
		return k.stock.VolumeZones
	}
	return k.stock.Zones
}

func (k cinder) createVolume() {
	var o struct {
		Size             int               `json:"size"`
		Name             string            `json:"name"`
		Description      string            `json:"description"`
		VolumeType       string            `json:"volume_type"`
		AvailabilityZone string            `json:"availability_zone"`
		ImageRef         string            `json:"imageRef"`
		Metadata         map[string]string `json:"metadata"`
	}
	if !k.read("volume", &o) {
		return
	}
	zones := k.zoneNames()
	if o.AvailabilityZone == "" {
		o.AvailabilityZone = zones[0]
	}
	_, known := k.image(o.ImageRef)
	switch {
	case o.Size <= 0:
		k.fail(http.StatusBadRequest, "badRequest", fmt.Sprintf("Invalid input for field/attribute size. Value: %d. %d is less than the minimum of 1", o.Size, o.Size))
	case o.ImageRef != "" && !known:
		k.fail(http.StatusBadRequest, "badRequest", "Invalid image identifier or unable to access requested image.")
	case !slices.Contains(zones, o.AvailabilityZone) && !k.any, k.closed["volumes/"+o.AvailabilityZone]:
		// cinder.volume.flows.api.create_volume knows only zones with an enabled service.
		k.fail(http.StatusBadRequest, "badRequest", "Availability zone '"+o.AvailabilityZone+"' is invalid.")
	case o.VolumeType != "" && !slices.Contains(k.stock.VolumeTypes, o.VolumeType) && !k.any:
		k.fail(http.StatusNotFound, "itemNotFound", "Volume type with name "+o.VolumeType+" could not be found.")
	case k.stock.Quota.Volumes >= 0 && len(k.volumes) >= k.stock.Quota.Volumes:
		k.fail(http.StatusRequestEntityTooLarge, "overLimit", fmt.Sprintf("VolumeLimitExceeded: Maximum number of volumes allowed (%d) exceeded for quota 'volumes'.", k.stock.Quota.Volumes))
	default:
		v := k.addVolume(volume{
			name: o.Name, description: o.Description, size: o.Size, kind: o.VolumeType, zone: o.AvailabilityZone, image: o.ImageRef, metadata: o.Metadata,
			project: k.token.project.ID,
		})
		k.reply(http.StatusAccepted, map[string]any{"volume": k.volumeRow(v)})
	}
}

func (k cinder) addVolume(v volume) *volume {
	v.id = k.id("volume")
	v.seq, v.created = k.seq, k.now
	if v.kind == "" && len(k.stock.VolumeTypes) > 0 {
		v.kind = k.stock.VolumeTypes[0]
	}
	k.volumes[v.id] = &v
	return &v
}

// listVolumes filters by name, status and metadata: {'key': 'value'}.
func (k cinder) listVolumes() {
	q := k.r.URL.Query()
	var rows []map[string]any
	for _, v := range slices.SortedFunc(maps.Values(k.volumes), func(a, b *volume) int { return a.seq - b.seq }) {
		named := q.Get("name") == "" || q.Get("name") == v.name
		if v.project == k.token.project.ID && named && (q.Get("status") == "" || q.Get("status") == v.state(k.Cloud, k.now)) && labelled(q.Get("metadata"), v.metadata) {
			rows = append(rows, k.volumeRow(v))
		}
	}
	page, next, ok := paged(rows, q.Get("marker"), k.limit(q.Get("limit")), func(row map[string]any) string { return row["id"].(string) })
	if !ok {
		k.fail(http.StatusBadRequest, "badRequest", "The marker is not there.")
		return
	}
	answer := map[string]any{"volumes": orNone(page)}
	if next != "" {
		answer["volumes_links"] = k.next(next)
	}
	k.reply(http.StatusOK, answer)
}

// labelled parses a Python dictionary: {'a':'b','c':'d'}.
func labelled(query string, metadata map[string]string) bool {
	for _, pair := range strings.Split(strings.Trim(query, "{} "), ",") {
		key, value, ok := strings.Cut(pair, ":")
		if !ok {
			continue
		}
		trim := func(s string) string { return strings.Trim(s, "'\" ") }
		if metadata[trim(key)] != trim(value) {
			return false
		}
	}
	return true
}
