package gce

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// shownOf is an instance as the API shows it: the request, with the fields that Compute Engine sets.
func shownOf(c *Cloud, i instance) resource {
	self := link("projects", i.project, "zones", i.zone, "instances", i.name)
	r := i.body.with(resource{
		"kind": "compute#instance", "id": i.id, "name": i.name, "selfLink": self, "creationTimestamp": stamp(i.began),
		"zone":        link("projects", i.project, "zones", i.zone),
		"machineType": link("projects", i.project, "zones", i.zone, "machineTypes", tail(i.body.text("machineType"))),
		"status":      "PROVISIONING", "cpuPlatform": cmp.Or(i.body.text("minCpuPlatform"), "Intel Broadwell"), "startRestricted": false,
		"labelFingerprint": fingerprint(i.body["labels"]), "deletionProtection": i.body.yes("deletionProtection"), "fingerprint": fingerprint(i.id),
		"scheduling": schedulingOf(i), "disks": attachDisks(c, i), "networkInterfaces": interfacesOf(c, i),
		"tags":                            i.body.part("tags").with(resource{"fingerprint": fingerprint(i.body["tags"])}),
		"metadata":                        i.body.part("metadata").with(resource{"kind": "compute#metadata", "fingerprint": fingerprint(i.body["metadata"])}),
		"shieldedInstanceConfig":          shieldedOf(i),
		"shieldedInstanceIntegrityPolicy": resource{"updateAutoLearnPolicy": true},
	})
	delete(r, "params")
	return r
}

func fingerprint(v any) string {
	raw, _ := json.Marshal(v)
	sum := sha256.Sum256(raw)
	return base64.URLEncoding.EncodeToString(sum[:8])
}

func schedulingOf(i instance) resource {
	asked := i.body.part("scheduling")
	s := resource{"onHostMaintenance": "MIGRATE", "automaticRestart": true, "preemptible": false, "provisioningModel": "STANDARD"}.with(asked)
	if spot(asked) {
		s = s.with(resource{"onHostMaintenance": "TERMINATE", "automaticRestart": false, "preemptible": true, "instanceTerminationAction": "STOP"})
		if asked.text("provisioningModel") == "" {
			s["provisioningModel"] = "STANDARD"
		}
	}
	s["onHostMaintenance"] = strings.ToUpper(cmp.Or(s.text("onHostMaintenance"), "MIGRATE"))
	return s
}

func shieldedOf(i instance) resource {
	return resource{"enableSecureBoot": false, "enableVtpm": true, "enableIntegrityMonitoring": true}.with(i.body.part("shieldedInstanceConfig"))
}

// attachDisks creates the disks for which a request has parameters, or uses existing disks of the same name. It returns the
// disks as an instance shows them.
func attachDisks(c *Cloud, i instance) (all []resource) {
	for n, d := range i.body.parts("disks") {
		init := d.part("initializeParams")
		shown := resource{
			"kind": "compute#attachedDisk", "index": n, "mode": "READ_WRITE", "type": kindOf(d), "boot": d.yes("boot"), "autoDelete": d.yes("autoDelete"),
			"deviceName": cmp.Or(d.text("deviceName"), "persistent-disk-"+strconv.Itoa(n)), "interface": cmp.Or(d.text("interface"), "SCSI"),
		}
		size := init.number("diskSizeGb")
		if size == 0 {
			size = imageSize(c, i.project, init.text("sourceImage"))
		}
		if kindOf(d) == scratch {
			shown["diskSizeGb"], shown["deviceName"] = "375", "local-ssd-"+strconv.Itoa(n)
			all = append(all, shown)
			continue
		}
		shown["diskSizeGb"] = strconv.FormatInt(size, 10)
		if key := d["diskEncryptionKey"]; key != nil {
			shown["diskEncryptionKey"] = key
		}
		name := diskName(i.name, n, d)
		useDisk(c, i, name, size, init)
		shown["source"] = link("projects", i.project, "zones", i.zone, "disks", name)
		all = append(all, shown)
	}
	return all
}

// diskName is the name of the nth disk of an instance, from the request or generated.
func diskName(instance string, n int, d resource) string {
	switch named := d.part("initializeParams").text("diskName"); {
	case d.text("source") != "":
		return tail(d.text("source"))
	case named != "":
		return named
	case n > 0:
		return fmt.Sprintf("%s-%d", instance, n)
	}
	return instance
}

func imageSize(c *Cloud, project, image string) int64 {
	project, name := owner(image, project)
	found, ok := c.options.Inventory.image(project, name, strings.Contains(image, "/family/"))
	if !ok || found.SizeGB == 0 {
		return 16
	}
	return found.SizeGB
}

// interfacesOf returns network interfaces, which have addresses from the beginning.
func interfacesOf(c *Cloud, i instance) (all []resource) {
	for n, nic := range i.body.parts("networkInterfaces") {
		c.serial++
		host := c.serial % 65_000
		project, subnet := owner(nic.text("subnetwork"), i.project)
		prefix := "10.128"
		network := nic.text("network")
		if s, ok := c.options.Inventory.subnetwork(project, regionOf(i.zone), subnet); ok {
			prefix = strings.Join(strings.Split(s.Prefix, ".")[:2], ".")
			network = cmp.Or(network, "projects/"+project+"/global/networks/"+s.Network)
		}
		project, name := owner(cmp.Or(network, "global/networks/default"), i.project)
		shown := nic.with(resource{
			"kind": "compute#networkInterface", "name": "nic" + strconv.Itoa(n), "fingerprint": fingerprint(c.serial),
			"network": link("projects", project, "global", "networks", name), "networkIP": fmt.Sprintf("%s.%d.%d", prefix, host/250, host%250+2),
			"stackType": cmp.Or(nic.text("stackType"), "IPV4_ONLY"),
		})
		if subnet != "" {
			project, _ := owner(nic.text("subnetwork"), i.project)
			shown["subnetwork"] = link("projects", project, "regions", regionOf(i.zone), "subnetworks", subnet)
		}
		if len(nic.parts("accessConfigs")) > 0 {
			shown["accessConfigs"] = []resource{{
				"kind": "compute#accessConfig", "type": "ONE_TO_ONE_NAT", "name": "External NAT", "networkTier": "PREMIUM",
				"natIP": fmt.Sprintf("34.73.%d.%d", host/250, host%250+2),
			}}
		} else {
			delete(shown, "accessConfigs")
		}
		if len(nic.parts("ipv6AccessConfigs")) > 0 {
			shown["ipv6AccessConfigs"] = []resource{{
				"kind": "compute#accessConfig", "type": "DIRECT_IPV6", "name": "external-ipv6", "networkTier": "PREMIUM",
				"externalIpv6": fmt.Sprintf("2600:1900:4000:%x::", host), "externalIpv6PrefixLength": 96,
			}}
		} else {
			delete(shown, "ipv6AccessConfigs")
		}
		if shown.text("stackType") == "IPV4_IPV6" && shown["ipv6AccessConfigs"] == nil {
			shown["ipv6Address"] = fmt.Sprintf("fd20:a:b:%x::", host)
		}
		all = append(all, shown)
	}
	return all
}
