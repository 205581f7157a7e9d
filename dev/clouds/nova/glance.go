package nova

import (
	"net/http"
	"net/url"
)

// glance serves images.
type glance struct{ *call }

func serveImage(all *call) {
	k := glance{all}
	if k.parts[0] != "images" || !k.method("GET") {
		k.fail(http.StatusNotFound, "", "The resource could not be found.")
		return
	}
	if len(k.parts) == 2 {
		i, ok := k.image(k.parts[1])
		if !ok {
			k.fail(http.StatusNotFound, "", "Failed to find image "+k.parts[1]+" to show")
			return
		}
		k.reply(http.StatusOK, k.showImage(i))
		return
	}
	q := k.r.URL.Query()
	rows := k.imageRows(q)
	if len(rows) == 0 && k.any && q.Get("name") != "" {
		k.stock.Images = append(k.stock.Images, Image{ID: uuid("image " + q.Get("name")), Name: q.Get("name")})
		rows = k.imageRows(q)
	}
	page, next, ok := paged(rows, q.Get("marker"), k.limit(q.Get("limit")), func(row map[string]any) string { return row["id"].(string) })
	if !ok {
		k.fail(http.StatusBadRequest, "", "The marker is not there.")
		return
	}
	answer := map[string]any{"images": orNone(page), "first": "/v2/images?" + without(q, "marker").Encode(), "schema": "/v2/schemas/images"}
	if next != "" {
		q.Set("marker", next)
		answer["next"] = "/v2/images?" + q.Encode()
	}
	k.reply(http.StatusOK, answer)
}

func without(q url.Values, key string) url.Values {
	out := url.Values{}
	for name, values := range q {
		if name != key {
			out[name] = values
		}
	}
	return out
}

func (k glance) imageRows(q url.Values) (rows []map[string]any) {
	for _, i := range k.stock.Images {
		if q.Get("name") == "" || q.Get("name") == i.Name {
			rows = append(rows, k.showImage(i))
		}
	}
	return rows
}

// showImage has the form of testdata/images.json. Properties are fields of the image itself.
func (k glance) showImage(i Image) map[string]any {
	status := i.Status
	if status == "" {
		status = "active"
	}
	out := map[string]any{
		"owner_specified.openstack.md5": "", "owner_specified.openstack.sha256": "", "owner_specified.openstack.object": "images/" + i.Name,
		"name": i.Name, "disk_format": "raw", "container_format": "bare", "visibility": "shared", "size": 2, "virtual_size": 2, "status": status,
		"checksum": "401b30e3b8b5d629635a5c613cdb7919", "protected": false, "min_ram": 0, "min_disk": i.MinDisk, "owner": k.owner(""), "os_hidden": false,
		"os_hash_algo": "sha512", "os_hash_value": "45843648ecf9da8e", "id": i.ID, "created_at": stamp(epoch), "updated_at": stamp(epoch), "tags": []any{},
		"self": "/v2/images/" + i.ID, "file": "/v2/images/" + i.ID + "/file", "schema": "/v2/schemas/image", "stores": "fs",
	}
	if i.Architecture != "" {
		out["hw_architecture"] = i.Architecture
	}
	return out
}

// image is the image with the ID.
func (k *stock) image(id string) (Image, bool) {
	for _, i := range k.Images {
		if i.ID == id {
			return i, true
		}
	}
	if k.any && id != "" {
		i := Image{ID: id, Name: id}
		k.Images = append(k.Images, i)
		return i, true
	}
	return Image{}, false
}
