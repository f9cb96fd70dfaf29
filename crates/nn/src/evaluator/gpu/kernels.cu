// What the network does between its matrix products, on a GPU. Compiled when training starts, with the network's sizes as constants: WIDTH (d), HIDDEN, HEADS, LAST_POSITION (the last
// row of the positions), CHUNKS (the parts that sums over rows are made in), GELU (or ReLU) and BF16
// (or f32, as what lies in memory; sums are always f32).
//
// Rows lie as they do on CPU, one sequence after the other without padding, and the same values are
// dropped for the same seed: both learn the same, but for rounding. Sums are made in a fixed order.
// R = all rows, B = sequences, A = rows with a query (see forward.rs).

typedef unsigned int u32;

#define LANES 32
#define WARPS 4
#define SIZE (WIDTH / HEADS)
#define PITCH (SIZE + 1)
#define PER_LANE ((WIDTH + LANES - 1) / LANES)
#define LANE (threadIdx.x % LANES)
#define WARP (threadIdx.x / LANES)
#define ROW (blockIdx.x * (blockDim.x / LANES) + WARP)
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define FOR_COLUMNS                                                        \
    _Pragma("unroll") for (int i = 0, c = LANE; i < PER_LANE; i++, c += LANES) \
        if (WIDTH % LANES == 0 || c < WIDTH)

#if BF16
typedef unsigned short real;

__device__ __forceinline__ float load(real x) {
    return __uint_as_float((u32)x << 16);
}

__device__ __forceinline__ real store(float x) {
    u32 bits = __float_as_uint(x);
    return x != x ? 0x7fc0 : (real)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
#else
typedef float real;

__device__ __forceinline__ float load(real x) {
    return x;
}

__device__ __forceinline__ real store(float x) {
    return x;
}
#endif

// As Mask in dropout.rs.
struct Mask {
    u32 key, threshold;
    float scale;

    __device__ __forceinline__ float factor(u32 index) const {
        u32 x = index ^ key;
        x = (x ^ (x >> 16)) * 0x7feb352du;
        x = (x ^ (x >> 15)) * 0x846ca68bu;
        x ^= x >> 16;
        return x < threshold ? 0.0f : scale;
    }
};

__device__ __forceinline__ float warp_sum(float x) {
    for (int offset = LANES / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}

__device__ __forceinline__ float warp_max(float x) {
    for (int offset = LANES / 2; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, offset));
    return x;
}

__device__ __forceinline__ float activated(float x) {
#if GELU
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
#else
    return fmaxf(x, 0.0f);
#endif
}

__device__ __forceinline__ float activated_slope(float x) {
#if GELU
    return 0.5f * (1.0f + erff(x * 0.70710678f)) + x * 0.3989423f * expf(-0.5f * x * x);
#else
    return x > 0.0f ? 1.0f : 0.0f;
#endif
}

// The layer norm of one row.
__device__ __forceinline__ void norm_row(
    const float *v, u32 row, real *normalized, float *rstds, real *y, const float *weight,
    const float *bias
) {
    float sum = 0.0f, squares = 0.0f;
    FOR_COLUMNS sum += v[i];
    float mean = warp_sum(sum) / WIDTH;
    FOR_COLUMNS squares += (v[i] - mean) * (v[i] - mean);
    float scale = 1.0f / sqrtf(warp_sum(squares) / WIDTH + 1e-5f);
    size_t at = (size_t)row * WIDTH;
    FOR_COLUMNS {
        float x = (v[i] - mean) * scale;
        normalized[at + c] = store(x);
        y[at + c] = store(x * weight[c] + bias[c]);
    }
    if (LANE == 0) rstds[row] = scale;
}

extern "C" __global__ void layer_norm(
    const real *x, u32 rows, real *normalized, float *rstds, real *y, const float *weight,
    const float *bias
) {
    u32 row = ROW;
    if (row >= rows) return;
    float v[PER_LANE];
    FOR_COLUMNS v[i] = load(x[(size_t)row * WIDTH + c]);
    norm_row(v, row, normalized, rstds, y, weight, bias);
}

// sum = residual + dropout(product + bias), and its layer norm where one is wanted. `residual_rows` has
// the row of the residual for each row, where it is not the same one.
extern "C" __global__ void add_residual(
    const real *product, const float *bias, const real *residual, const u32 *residual_rows, u32 rows,
    u32 key, u32 threshold, float scale_kept, real *sum, real *normalized, float *rstds, real *y,
    const float *weight, const float *shift
) {
    u32 row = ROW;
    if (row >= rows) return;
    Mask mask = {key, threshold, scale_kept};
    size_t at = (size_t)row * WIDTH, from = (size_t)(residual_rows ? residual_rows[row] : row) * WIDTH;
    float v[PER_LANE];
    FOR_COLUMNS {
        float x = (load(product[at + c]) + bias[c]) * mask.factor(row * WIDTH + c);
        v[i] = load(residual[from + c]) + x;
        if (sum) sum[at + c] = store(v[i]);
    }
    if (normalized) norm_row(v, row, normalized, rstds, y, weight, shift);
}

// From the gradient of a norm's result to that of its rows, in place.
extern "C" __global__ void layer_norm_backward(
    real *gradient, const real *normalized, const float *rstds, const float *weight, u32 rows
) {
    u32 row = ROW;
    if (row >= rows) return;
    size_t at = (size_t)row * WIDTH;
    float g[PER_LANE], x[PER_LANE], sum = 0.0f, along = 0.0f;
    FOR_COLUMNS {
        g[i] = load(gradient[at + c]) * weight[c];
        x[i] = load(normalized[at + c]);
        sum += g[i];
        along += g[i] * x[i];
    }
    sum = warp_sum(sum) / WIDTH;
    along = warp_sum(along) / WIDTH;
    float scale = rstds[row];
    FOR_COLUMNS gradient[at + c] = store(scale * (g[i] - sum - x[i] * along));
}

// x = dropout(activation(x + bias)); with GELU x + bias goes to `pre`.
extern "C" __global__ void activate(
    real *x, const float *bias, real *pre, u32 count, u32 key, u32 threshold, float scale_kept
) {
    u32 at = INDEX;
    if (at >= count) return;
    Mask mask = {key, threshold, scale_kept};
    float sum = load(x[at]) + bias[at % HIDDEN];
    if (pre) pre[at] = store(sum);
    x[at] = store(activated(sum) * mask.factor(at));
}

// From the gradient of an activation's result to that of its sums, in place.
extern "C" __global__ void activate_backward(
    real *gradient, const real *result, const real *pre, u32 count, u32 key, u32 threshold,
    float scale_kept
) {
    u32 at = INDEX;
    if (at >= count) return;
    Mask mask = {key, threshold, scale_kept};
    // Without the sums (ReLU): what was dropped and what was negative are both 0 in the result.
    float slope = pre ? activated_slope(load(pre[at])) * mask.factor(at)
                         : (load(result[at]) > 0.0f ? scale_kept : 0.0f);
    gradient[at] = store(load(gradient[at]) * slope);
}

extern "C" __global__ void dropout(
    const real *x, real *out, u32 count, u32 key, u32 threshold, float scale_kept
) {
    u32 at = INDEX;
    if (at >= count) return;
    Mask mask = {key, threshold, scale_kept};
    out[at] = store(load(x[at]) * mask.factor(at));
}

extern "C" __global__ void convert(const float *x, real *out, u32 count) {
    u32 at = INDEX;
    if (at < count) out[at] = store(x[at]);
}

extern "C" __global__ void add(real *x, const real *y, u32 count) {
    u32 at = INDEX;
    if (at < count) x[at] = store(load(x[at]) + load(y[at]));
}

// The first row of every sequence.
extern "C" __global__ void gather(const real *x, const u32 *starts, u32 sequences, real *out) {
    u32 at = INDEX;
    if (at >= sequences * WIDTH) return;
    out[at] = x[(size_t)starts[at / WIDTH] * WIDTH + at % WIDTH];
}

// Adds to the first row of every sequence.
extern "C" __global__ void scatter_add(const real *x, const u32 *starts, u32 sequences, real *out) {
    u32 at = INDEX;
    if (at >= sequences * WIDTH) return;
    size_t to = (size_t)starts[at / WIDTH] * WIDTH + at % WIDTH;
    out[to] = store(load(out[to]) + load(x[at]));
}

// The tokens: steps projected, with their positions, each sequence behind a CLS token.
extern "C" __global__ void embed(
    const real *projected, const float *bias, const float *cls, const float *position,
    const u32 *starts, const u32 *sequence_of, u32 rows, u32 key, u32 threshold, float scale_kept, real *x
) {
    u32 row = ROW;
    if (row >= rows) return;
    Mask mask = {key, threshold, scale_kept};
    u32 sequence = sequence_of[row], position_number = row - starts[sequence];
    const float *position_row = position + (size_t)min(position_number, (u32)LAST_POSITION) * WIDTH;
    // So many CLS tokens lie before this row, its own included.
    const real *step = projected + (size_t)(row - sequence - 1) * WIDTH;
    FOR_COLUMNS {
        float token = position_number == 0 ? cls[c] : load(step[c]) + bias[c];
        x[(size_t)row * WIDTH + c] = store((token + position_row[c]) * mask.factor(row * WIDTH + c));
    }
}

// The gradient of the tokens, in place, and of the projected steps.
extern "C" __global__ void embed_backward(
    real *x, const u32 *starts, const u32 *sequence_of, u32 rows, u32 key, u32 threshold, float scale_kept,
    real *d_projected
) {
    u32 row = ROW;
    if (row >= rows) return;
    Mask mask = {key, threshold, scale_kept};
    u32 sequence = sequence_of[row], position_number = row - starts[sequence];
    real *step = d_projected + (size_t)(row - sequence - 1) * WIDTH;
    FOR_COLUMNS {
        size_t at = (size_t)row * WIDTH + c;
        real gradient = store(load(x[at]) * mask.factor(row * WIDTH + c));
        x[at] = gradient;
        if (position_number > 0) step[c] = gradient;
    }
}

// Sums over rows are made in CHUNKS parts, [CHUNKS, slots] in `parts`; `reduce_sums` adds these up.
struct Part {
    u32 from, to;

    __device__ __forceinline__ Part(u32 chunk, u32 count) {
        u32 each = (count + CHUNKS - 1) / CHUNKS;
        from = min(chunk * each, count);
        to = min(from + each, count);
    }
};

// Every column's sum of x, and of x·other where that is given.
extern "C" __global__ void column_sums(
    const real *x, const real *other, u32 rows, u32 width, float *parts, u32 slots, u32 slot,
    u32 slot_of_other
) {
    u32 c = INDEX;
    if (c >= width) return;
    Part part(blockIdx.y, rows);
    float sum = 0.0f, both = 0.0f;
    if (other) {
#pragma unroll 4
        for (u32 row = part.from; row < part.to; row++) {
            size_t at = (size_t)row * width + c;
            float value = load(x[at]);
            sum += value;
            both += value * load(other[at]);
        }
        parts[(size_t)blockIdx.y * slots + slot_of_other + c] = both;
    } else {
#pragma unroll 8
        for (u32 row = part.from; row < part.to; row++) sum += load(x[(size_t)row * width + c]);
    }
    parts[(size_t)blockIdx.y * slots + slot + c] = sum;
}

// For every position the sum of its rows; the CLS tokens' too.
extern "C" __global__ void position_sums(
    const real *x, const u32 *starts, u32 sequences, float *parts, u32 slots, u32 slot_of_positions,
    u32 slot_of_cls
) {
    u32 c = INDEX, position_number = blockIdx.y;
    if (c >= WIDTH) return;
    Part part(blockIdx.z, sequences);
    float sum = 0.0f;
    for (u32 sequence = part.from; sequence < part.to; sequence++) {
        u32 start = starts[sequence], length = starts[sequence + 1] - start;
        u32 end = position_number == LAST_POSITION ? length : min(length, position_number + 1);
        for (u32 at = position_number; at < end; at++) sum += load(x[(size_t)(start + at) * WIDTH + c]);
    }
    parts[(size_t)blockIdx.z * slots + slot_of_positions + position_number * WIDTH + c] = sum;
    if (position_number == 0) parts[(size_t)blockIdx.z * slots + slot_of_cls + c] = sum;
}

extern "C" __global__ void reduce_sums(const float *parts, u32 slots, const u32 *slot_parameters, float *gradient) {
    u32 slot = INDEX;
    if (slot >= slots) return;
    float sum = 0.0f;
#pragma unroll 8
    for (int chunk = 0; chunk < CHUNKS; chunk++) sum += parts[(size_t)chunk * slots + slot];
    gradient[slot_parameters[slot]] = sum;
}

// Attention: one block for each sequence and head, its keys and values in shared memory. The biases
// [3·d] are added here; a row of queries is `q_pitch` values long, one of keys and values `kv_pitch`.
extern __shared__ float shared[];

__device__ __forceinline__ void load_rows(
    float *into, const real *from, u32 rows, u32 pitch, const float *bias
) {
    for (u32 at = threadIdx.x; at < rows * SIZE; at += blockDim.x) {
        u32 row = at / SIZE, c = at % SIZE;
        into[row * PITCH + c] = load(from[(size_t)row * pitch + c]) + (bias ? bias[c] : 0.0f);
    }
}

__device__ __forceinline__ float dot(const float *a, const float *b) {
    float sum = 0.0f;
    for (int c = 0; c < SIZE; c++) sum += a[c] * b[c];
    return sum;
}

// A row of `probs` [A, HEADS, max_length] is softmax(q kᵀ / √SIZE).
extern "C" __global__ void attention(
    const real *queries, u32 q_pitch, const real *keys_values, u32 kv_pitch, const float *bias,
    const u32 *starts, u32 cls_only, u32 max_length, float *probs, real *out
) {
    u32 sequence = blockIdx.x, head = blockIdx.y * SIZE, start = starts[sequence];
    u32 length = starts[sequence + 1] - start, query_count = cls_only ? 1 : length;
    u32 first_query = cls_only ? sequence : start;
    float *q = shared, *k = q + max_length * PITCH, *v = k + max_length * PITCH;
    float *scores = v + max_length * PITCH + WARP * max_length;
    const real *rows = keys_values + (size_t)start * kv_pitch + head;
    load_rows(q, queries + (size_t)first_query * q_pitch + head, query_count, q_pitch, bias + head);
    load_rows(k, rows, length, kv_pitch, bias + WIDTH + head);
    load_rows(v, rows + WIDTH, length, kv_pitch, bias + 2 * WIDTH + head);
    __syncthreads();
    for (u32 i = WARP; i < query_count; i += WARPS) {
        float max_score = -1e30f, total = 0.0f;
        for (u32 j = LANE; j < length; j += LANES) {
            scores[j] = dot(q + i * PITCH, k + j * PITCH) * rsqrtf((float)SIZE);
            max_score = fmaxf(max_score, scores[j]);
        }
        max_score = warp_max(max_score);
        for (u32 j = LANE; j < length; j += LANES) {
            scores[j] = expf(scores[j] - max_score);
            total += scores[j];
        }
        total = 1.0f / warp_sum(total);
        float *prob = probs + ((size_t)(first_query + i) * HEADS + blockIdx.y) * max_length;
        for (u32 j = LANE; j < length; j += LANES) prob[j] = scores[j] *= total;
        __syncwarp();
        for (u32 c = LANE; c < SIZE; c += LANES) {
            float sum = 0.0f;
            for (u32 j = 0; j < length; j++) sum += scores[j] * v[j * PITCH + c];
            out[(size_t)(first_query + i) * WIDTH + head + c] = store(sum);
        }
        __syncwarp();
    }
}

// From the gradient of the attended values [A, d] to those of queries and of keys and values.
extern "C" __global__ void attention_backward(
    const real *queries, u32 q_pitch, const real *keys_values, u32 kv_pitch, const float *bias,
    const u32 *starts, u32 cls_only, u32 max_length, const float *probs, const real *gradient,
    real *d_queries, real *d_keys_values
) {
    u32 sequence = blockIdx.x, head = blockIdx.y * SIZE, start = starts[sequence];
    u32 length = starts[sequence + 1] - start, query_count = cls_only ? 1 : length;
    u32 first_query = cls_only ? sequence : start;
    u32 row_floats = max_length * PITCH;
    float *q = shared, *k = q + row_floats, *v = k + row_floats, *g = v + row_floats;
    float *p = g + row_floats, *ds = p + max_length * max_length;
    const real *rows = keys_values + (size_t)start * kv_pitch + head;
    load_rows(q, queries + (size_t)first_query * q_pitch + head, query_count, q_pitch, bias + head);
    load_rows(k, rows, length, kv_pitch, bias + WIDTH + head);
    load_rows(v, rows + WIDTH, length, kv_pitch, bias + 2 * WIDTH + head);
    load_rows(g, gradient + (size_t)first_query * WIDTH + head, query_count, WIDTH, 0);
    __syncthreads();
    for (u32 i = WARP; i < query_count; i += WARPS) {
        const float *prob = probs + ((size_t)(first_query + i) * HEADS + blockIdx.y) * max_length;
        float *p_row = p + i * max_length, *ds_row = ds + i * max_length, sum = 0.0f;
        for (u32 j = LANE; j < length; j += LANES) {
            p_row[j] = prob[j];
            ds_row[j] = dot(g + i * PITCH, v + j * PITCH);
            sum += p_row[j] * ds_row[j];
        }
        sum = warp_sum(sum);
        for (u32 j = LANE; j < length; j += LANES)
            ds_row[j] = p_row[j] * (ds_row[j] - sum) * rsqrtf((float)SIZE);
        __syncwarp();
        for (u32 c = LANE; c < SIZE; c += LANES) {
            float d_query = 0.0f;
            for (u32 j = 0; j < length; j++) d_query += ds_row[j] * k[j * PITCH + c];
            d_queries[(size_t)(first_query + i) * q_pitch + head + c] = store(d_query);
        }
    }
    __syncthreads();
    for (u32 j = WARP; j < length; j += WARPS) {
        real *d_key = d_keys_values + (size_t)(start + j) * kv_pitch + head;
        for (u32 c = LANE; c < SIZE; c += LANES) {
            float key = 0.0f, value = 0.0f;
            for (u32 i = 0; i < query_count; i++) {
                key += ds[i * max_length + j] * q[i * PITCH + c];
                value += p[i * max_length + j] * g[i * PITCH + c];
            }
            d_key[c] = store(key);
            d_key[WIDTH + c] = store(value);
        }
    }
}

// The end of the head: its hidden layer, the loss of each sequence, and the gradient of the hidden sums.
extern "C" __global__ void head_loss(
    const real *product, const float *bias, const float *last_weight, const float *last_bias,
    const u32 *labels, float weight_of_positive, u32 sequences, real *hidden, real *d_hidden,
    float *d_logits, float *losses
) {
    u32 row = ROW;
    if (row >= sequences) return;
    size_t at = (size_t)row * WIDTH;
    float v[PER_LANE], sum = 0.0f;
    FOR_COLUMNS {
        v[i] = load(product[at + c]) + bias[c];
        float x = activated(v[i]);
        hidden[at + c] = store(x);
        sum += x * last_weight[c];
    }
    float logit = warp_sum(sum) + last_bias[0], goal = labels[row] ? 1.0f : 0.0f;
    float weight = labels[row] ? weight_of_positive : 1.0f;
    float slope = (1.0f / (1.0f + expf(-logit)) - goal) * weight / sequences;
    FOR_COLUMNS d_hidden[at + c] = store(slope * last_weight[c] * activated_slope(v[i]));
    if (LANE == 0) {
        d_logits[row] = slope;
        losses[row] = (fmaxf(logit, 0.0f) - goal * logit + log1pf(expf(-fabsf(logit)))) * weight;
    }
}

// The gradient of the head's last weight [d], and of its bias behind it.
extern "C" __global__ void head_sums(
    const real *hidden, const float *d_logits, u32 sequences, float *parts, u32 slots, u32 slot
) {
    u32 c = INDEX;
    if (c > WIDTH) return;
    Part part(blockIdx.y, sequences);
    float sum = 0.0f;
    for (u32 row = part.from; row < part.to; row++)
        sum += d_logits[row] * (c < WIDTH ? load(hidden[(size_t)row * WIDTH + c]) : 1.0f);
    parts[(size_t)blockIdx.y * slots + slot + c] = sum;
}

// The sum of a block's values, in all of its threads.
__device__ __forceinline__ float block_sum(float x) {
    __shared__ float sums[LANES];
    x = warp_sum(x);
    if (LANE == 0) sums[WARP] = x;
    __syncthreads();
    return warp_sum(LANE < blockDim.x / LANES ? sums[LANE] : 0.0f);
}

// The squares of the gradient, summed in as many parts as there are blocks.
extern "C" __global__ void squared_norm(const float *gradient, u32 count, float *sums) {
    float sum = 0.0f;
    for (u32 at = INDEX; at < count; at += gridDim.x * blockDim.x) sum += gradient[at] * gradient[at];
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// One step of AdamW over all parameters. `sums` (as many as a block has threads) add up to the squared
// norm of the gradient; one longer than `max_norm` is scaled to that, where it is above 0.
extern "C" __global__ void adamw(
    float *weights, real *copy, float *first, float *second, const float *gradient, u32 count,
    const float *sums, float max_norm, float rate, float correction, float decay, float beta1,
    float beta2, float eps
) {
    float clip = 1.0f;
    if (max_norm > 0.0f) {
        float norm = sqrtf(block_sum(sums[threadIdx.x]));
        if (norm > max_norm) clip = max_norm / norm;
    }
    for (u32 at = INDEX; at < count; at += gridDim.x * blockDim.x) {
        float g = gradient[at] * clip;
        float m = first[at] + (1.0f - beta1) * (g - first[at]);
        float v = second[at] + (1.0f - beta2) * (g * g - second[at]);
        float w = weights[at] * decay - rate * m / (sqrtf(v) * correction + eps);
        first[at] = m;
        second[at] = v;
        weights[at] = w;
        if (copy) copy[at] = store(w);
    }
}
