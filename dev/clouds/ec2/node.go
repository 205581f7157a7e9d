package ec2

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"time"
)

// node is an element of an XML answer.
type node struct {
	name string
	text string
	kids []node
}

// el returns an element with its content: texts, numbers, booleans, times, elements and lists of these. It does not omit empty
// elements; [opt] does.
func el(name string, parts ...any) node {
	n := node{name: name}
	for _, part := range parts {
		switch p := part.(type) {
		case nil:
		case node:
			n.kids = append(n.kids, p)
		case []node:
			n.kids = append(n.kids, p...)
		case string:
			n.text = p
		case bool:
			n.text = strconv.FormatBool(p)
		case time.Time:
			n.text = p.UTC().Format("2006-01-02T15:04:05.000Z")
		default:
			n.text = fmt.Sprint(p)
		}
	}
	return n
}

// opt is [el], or no element for an empty text, false or zero.
func opt[T comparable](name string, value T) node {
	var zero T
	if value == zero {
		return node{}
	}
	return el(name, value)
}

// set is a list in the form of EC2, members a list in the form of the other services.
func set(name string, items ...[]node) node { return listOf(name, "item", items) }

func members(name string, items ...[]node) node { return listOf(name, "member", items) }

func listOf(name, each string, items [][]node) node {
	n := node{name: name}
	for _, item := range items {
		n.kids = append(n.kids, el(each, item))
	}
	return n
}

// texts is a list of texts.
func texts(name, each string, values []string) node {
	n := node{name: name}
	for _, v := range values {
		n.kids = append(n.kids, el(each, v))
	}
	return n
}

func (n node) write(out *bytes.Buffer) {
	out.WriteString("<" + n.name + ">")
	if n.kids == nil {
		_ = xml.EscapeText(out, []byte(n.text)) // a buffer always has room
	}
	for _, kid := range n.kids {
		if kid.name != "" {
			kid.write(out)
		}
	}
	name, _, _ := bytes.Cut([]byte(n.name), []byte(" "))
	out.WriteString("</" + string(name) + ">")
}

// document is the text of an answer.
func document(root node, namespace string) []byte {
	var out bytes.Buffer
	out.WriteString(xml.Header)
	if namespace != "" {
		root.name += ` xmlns="` + namespace + `"`
	}
	root.write(&out)
	return out.Bytes()
}
