/** Pictures of a message: shown if their data is known, else named with their size. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { picturesSent } from "../state/pictures.ts";
import type { ImageBlock } from "../wire.ts";

const KINDS = /^image\/(png|jpeg|gif|webp)$/;

export function Images({ images }: { images: readonly ImageBlock[] }): VNode | null {
  if (!images.length) return null;
  return (
    <div class="pictures">
      {images.map((image) => (
        <Image image={image} />
      ))}
    </div>
  );
}

function Image({ image }: { image: ImageBlock }): VNode {
  const [isLarge, setLarge] = useState(false);
  const source = sourceOf(image);
  const label = `${image.mime_type}, ${size(image.bytes)}`;
  if (!source) return <span class="picture-name">{`picture: ${label}`}</span>;
  return (
    <button type="button" class={isLarge ? "picture large" : "picture"} aria-expanded={isLarge} onClick={() => setLarge(!isLarge)}>
      <img src={source} alt={`picture, ${label}`} />
    </button>
  );
}

function sourceOf(image: ImageBlock): string {
  if (image.data && KINDS.test(image.mime_type) && /^[A-Za-z0-9+/=]+$/.test(image.data)) {
    return `data:${image.mime_type};base64,${image.data}`;
  }
  return picturesSent.get(`${image.mime_type} ${image.bytes}`) ?? "";
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(0)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
