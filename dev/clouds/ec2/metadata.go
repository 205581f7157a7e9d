package ec2

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// Metadata is the instance metadata service of the instance with the ID: "Use IMDS" in the User Guide of EC2.
func (c *Cloud) Metadata(id string) http.Handler {
	const token = "AQAAAExampleTokenOfTheMetadataService=="
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i, ok := c.instances.Get(id)
		if !ok || c.state(i) != running || i.Request.Get("MetadataOptions.HttpEndpoint") == "disabled" {
			http.Error(w, "Forbidden", http.StatusForbidden)
			return
		}
		if r.URL.Path == "/latest/api/token" {
			issue(w, r, token)
			return
		}
		sent := r.Header.Get("X-Aws-Ec2-Metadata-Token")
		if sent != token && (sent != "" || i.Request.Get("MetadataOptions.HttpTokens") == "required") {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		text, ok := c.fact(i, strings.Trim(strings.TrimPrefix(r.URL.Path, "/latest"), "/"))
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, text)
	})
}

func issue(w http.ResponseWriter, r *http.Request, token string) {
	ttl := r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds")
	switch {
	case r.Method != http.MethodPut:
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	case ttl == "":
		http.Error(w, "Bad Request", http.StatusBadRequest)
	default:
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", ttl)
		_, _ = io.WriteString(w, token)
	}
}

// fact is the value at a path; false if the path has no value, for example before an interruption notice.
func (c imds) fact(i instance, path string) (string, bool) {
	first := c.primary(i)
	at := i.Interrupted.UTC().Format("2006-01-02T15:04:05Z")
	switch path {
	case "user-data":
		data, _ := base64.StdEncoding.DecodeString(i.Request.Get("UserData"))
		return string(data), len(data) > 0
	case "dynamic/instance-identity/document":
		return c.identity(i), true
	case "meta-data/spot/termination-time":
		return at, !i.Interrupted.IsZero()
	case "meta-data/spot/instance-action":
		return `{"action":"terminate","time":"` + at + `"}`, !i.Interrupted.IsZero()
	case "meta-data/events/recommendations/rebalance":
		return `{"noticeTime":"` + i.Interrupted.Add(-notice).UTC().Format("2006-01-02T15:04:05Z") + `"}`, !i.Interrupted.IsZero()
	}
	life := "on-demand"
	if i.spot() {
		life = "spot"
	}
	name, ok := strings.CutPrefix(path, "meta-data/")
	facts := map[string]string{
		"instance-id": i.ID, "instance-type": i.Type, "ami-id": i.Request.Get("ImageId"), "local-ipv4": first.Address, "public-ipv4": first.Public,
		"local-hostname": c.privateName(i), "hostname": c.privateName(i), "instance-life-cycle": life, "reservation-id": i.Reservation,
		"placement/availability-zone": i.Zone, "placement/region": c.region(i.Zone),
	}
	return facts[name], ok && facts[name] != ""
}

func (c imds) identity(i instance) string {
	image, _ := c.image(i.Request.Get("ImageId"))
	raw, _ := json.Marshal(map[string]string{ // only texts
		"accountId": i.Account, "architecture": image.Arch, "availabilityZone": i.Zone, "imageId": image.ID, "instanceId": i.ID, "instanceType": i.Type,
		"pendingTime": i.Made.UTC().Format(time.RFC3339), "privateIp": c.primary(i).Address, "region": c.region(i.Zone), "version": "2017-09-30",
	})
	return string(raw)
}
